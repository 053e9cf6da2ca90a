// Files to save: the grid in each format, and as an example to learn from.

import { exportGrid } from "./api.js";
import { make } from "./dom.js";

export const FORMATS = {
  json: ["JSON", "json"],
  tsv: ["TSV", "tsv"],
  csv: ["CSV", "csv"],
  html: ["HTML", "html"],
  mermaid: ["Mermaid", "mmd"],
  dot: ["DOT", "dot"],
  svg: ["SVG", "svg"],
};

const nameFile = (title) => title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "grid";

async function save(answer, name) {
  const url = URL.createObjectURL(await answer.blob());
  make("a", { href: url, download: name }).click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export async function saveGrid(grid, format, limit) {
  const [, ending] = FORMATS[format];
  await save(await exportGrid(grid, format, { limit }), `${nameFile(grid.id)}.${ending}`);
}

/** Save a grid that the user has gone through, in the format of koala's own corpus. */
export async function saveExample(grid, { title, topic }) {
  await save(await exportGrid(grid, "example", { title, topic }), `${nameFile(title)}.txt`);
}
