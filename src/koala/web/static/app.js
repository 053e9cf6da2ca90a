// The page: input, result, and what joins them.

import { exportGrid, getExamples, getHealth, track } from "./api.js";
import { Chips } from "./chips.js";
import { find, make } from "./dom.js";
import { readDrawing } from "./graph.js";
import { GridTable } from "./grid.js";
import { readLink, writeLink } from "./link.js";
import { Reading } from "./reading.js";
import { drawReason } from "./reason.js";

const FORMATS = {
  json: ["JSON", "json"],
  tsv: ["TSV", "tsv"],
  csv: ["CSV", "csv"],
  html: ["HTML", "html"],
  mermaid: ["Mermaid", "mmd"],
  dot: ["DOT", "dot"],
  svg: ["SVG", "svg"],
};

const text = find("text");
const state = { id: null, grid: null, request: null, limit: 0 };
const rerun = () => {
  if (state.request) run(); // there is a result, or one is on its way
};
const chips = new Chips(find("chips"), find("new-entity"), rerun);
const reading = new Reading(find("model"), find("reading"), rerun);
const table = new GridTable(find("grid"), (row, step) => {
  drawReason(find("reason"), state.grid, row, step);
  for (const [number, item] of [...find("steps").children].entries()) {
    item.classList.toggle("current", number === step);
  }
});

function say(message) {
  find("status").textContent = message;
}

function complain(message) {
  find("problem").textContent = message;
  find("problem").hidden = !message;
}

/** Do something that may fail, and show why it did. */
async function attempt(action) {
  try {
    await action();
  } catch (error) {
    // A newer request took the place of this one.
    if (error.name !== "AbortError") complain(error.message);
  }
}

/** Track what stands in the fields; `seeks`: look for entities beside those that are named. */
function run({ seeks = false } = {}) {
  say("");
  complain("");
  return attempt(async () => {
    chips.take();
    if (!text.value.trim()) {
      text.focus();
      throw new Error("The text is empty. Paste a procedure, or pick an example.");
    }
    state.request?.abort();
    const request = new AbortController();
    state.request = request;
    const input = { text: text.value, model: reading.model, ...(state.id ? { id: state.id } : {}) };
    if (chips.areOwn) input.entities = chips.names;
    if (chips.areOwn && seeks) input.find = true;
    say("Tracking …");
    find("result").setAttribute("aria-busy", "true");
    try {
      show(await track(input, request.signal), { areOwn: chips.areOwn });
    } catch (error) {
      if (error.name !== "AbortError") say("");
      throw error;
    } finally {
      if (state.request === request) find("result").removeAttribute("aria-busy");
    }
  });
}

function show(grid, { areOwn }) {
  state.grid = grid;
  reading.show(grid);
  chips.set(grid.entities.map((entity) => entity.name), { areOwn });
  find("steps").replaceChildren(...grid.steps.map((step) => make("li", {}, step)));
  find("result").hidden = false;
  table.draw(grid);
  openFirstChange(grid);
  const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;
  say(`${count(grid.entities.length, "entity", "entities")}, ${count(grid.steps.length, "step", "steps")}.`);
  complain((grid.warnings ?? []).join(" "));
  drawGraph(grid);
}

function openFirstChange(grid) {
  for (const [row, entity] of grid.entities.entries()) {
    const step = entity.steps.findIndex((cell) => cell.action !== "NONE");
    if (step >= 0) return table.open(row, step);
  }
  return table.open(0, 0);
}

function drawGraph(grid) {
  find("graph-section").hidden = true;
  return attempt(async () => {
    const answer = await exportGrid(grid, "svg", { limit: 0, signal: state.request.signal });
    const drawing = readDrawing(await answer.text());
    find("graph").replaceChildren(...(drawing ? [drawing] : []));
    find("graph-section").hidden = !drawing;
  });
}

function save(format) {
  return attempt(async () => {
    const [, ending] = FORMATS[format];
    const answer = await exportGrid(state.grid, format, { limit: state.limit });
    const url = URL.createObjectURL(await answer.blob());
    const name = state.grid.id.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "grid";
    make("a", { href: url, download: `${name}.${ending}` }).click();
    // The browser has begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });
}

function copyLink() {
  return attempt(async () => {
    const entities = chips.areOwn ? chips.names : null;
    const input = { id: state.id ?? undefined, text: text.value, entities, model: reading.model };
    history.replaceState(null, "", writeLink(input));
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied. It holds the text itself; nothing was sent.");
    } catch {
      say("The link stands in the address bar. It holds the text itself; nothing was sent.");
    }
  });
}

function fill({ id, text: content, entities, model }) {
  state.id = id || null;
  reading.model = model;
  text.value = content;
  chips.set(entities ?? [], { areOwn: Boolean(entities?.length) });
  return run();
}

function restore() {
  return attempt(async () => {
    const input = readLink(location.hash);
    if (input) await fill(input);
  });
}

async function drawExamples() {
  const examples = await getExamples();
  const buttons = examples.map(({ title, text: content, entities }) =>
    make("button", { type: "button", onclick: () => fill({ id: title, text: content, entities }) }, title),
  );
  find("examples").replaceChildren(make("span", { class: "quiet" }, "Try:"), ...buttons);
}

async function drawAbout() {
  const { version, models, limits } = await getHealth();
  state.limit = limits.body;
  reading.offer(models);
  const signatures = models.map(({ signature }) => signature).join(", ");
  find("about").textContent = `koala ${version}, model${models.length > 1 ? "s" : ""} ${signatures}.`;
}

text.addEventListener("input", () => {
  state.id = null; // no longer the example
  if (location.hash) history.replaceState(null, "", location.pathname); // nor what the link says
  reading.forget();
  // Entities that were found in the old text are not those of the new one.
  if (!chips.areOwn) chips.set([], { areOwn: false });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
find("track").addEventListener("click", () => run());
find("find").addEventListener("click", () => run({ seeks: true }));
find("link").addEventListener("click", copyLink);
find("exports").append(
  ...Object.entries(FORMATS).map(([format, [label]]) =>
    make("button", { type: "button", onclick: () => save(format) }, label),
  ),
);
window.addEventListener("hashchange", restore);
attempt(drawExamples);
// A link may name a model: first those that are here.
attempt(drawAbout).then(restore);
