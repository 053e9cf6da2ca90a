// The server's answers; what it refuses becomes an error with its own words.

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => null);
  throw new Error(body?.error?.message ?? `The server answered with ${answer.status}.`);
}

const post = (path, body, signal) =>
  ask(path, { method: "POST", headers: { "content-type": "application/json" }, body, signal });

export const getExamples = async () => (await ask("/api/examples")).json();
export const getHealth = async () => (await ask("/api/health")).json();
export const track = async (document, signal) =>
  (await post("/api/track", JSON.stringify({ ...document, explain: true }), signal)).json();

/** Write a grid in a format; with the reasons, if all of it fits into a request. */
export async function exportGrid(grid, format, { limit = 0, signal, ...options } = {}) {
  const whole = new Blob([JSON.stringify(grid)]);
  const body = whole.size <= limit ? whole : JSON.stringify(withoutReasons(grid));
  return post(`/api/export?${new URLSearchParams({ format, ...options })}`, body, signal);
}

export const getView = async (grid, view, signal) =>
  (await exportGrid(grid, "json", { view, signal })).json();

const withoutReasons = (grid) => ({
  ...grid,
  entities: grid.entities.map((entity) => ({
    ...entity,
    steps: entity.steps.map(({ reason, ...cell }) => cell),
  })),
});
