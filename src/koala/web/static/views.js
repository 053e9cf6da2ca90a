// Views of a grid: what is where, what each step does, the way of an entity, what is combined.

import { make } from "./dom.js";

const place = (location) => (location === "?" ? "location unknown" : location);
const first = (name) => name.split(";")[0].trim();

/** A table in a box that scrolls. */
function drawTable(label, head, rows, kind) {
  return make(
    "div",
    { class: "scroll", role: "region", "aria-label": label, tabindex: "0" },
    make(
      "table",
      { class: kind },
      head ? make("thead", {}, make("tr", {}, ...head)) : null,
      make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells))),
    ),
  );
}

/** Locations as rows, steps as columns: what is there after each step. */
export function drawLocations({ locations }) {
  const names = [...new Set(locations.flatMap((here) => Object.keys(here)))];
  const sorted = [...names.filter((name) => name !== "?"), ...names.filter((name) => name === "?")];
  const head = ["Location", "Before", ...locations.slice(1).map((_, index) => String(index + 1))];
  const rows = sorted.map((name) => [
    make("th", { scope: "row" }, place(name)),
    ...locations.map((here) => {
      const there = (here[name] ?? []).map(first);
      return make("td", { class: there.length ? "exists" : null }, ...there.map((n) => make("div", {}, n)));
    }),
  ]);
  const columns = head.map((label) => make("th", { scope: "col" }, label));
  return [drawTable("What is where after each step", columns, rows, "locations")];
}

/** Each step with what it does, as a sentence. */
export function drawSteps({ steps }) {
  const items = steps.map(({ text, sentence }) =>
    make(
      "li",
      {},
      make("span", { class: "sentence" }, sentence),
      make("span", { class: "quiet" }, text),
    ),
  );
  return [make("ol", { class: "step-view" }, ...items)];
}

function nameSteps({ first: begin, last }) {
  if (begin === 0) return last === 0 ? "before step 1" : `until step ${last}`;
  return begin === last ? `after step ${begin}` : `after steps ${begin} to ${last}`;
}

function drawStay(stay) {
  const { location, first: begin, last } = stay;
  const kind = location === "-" ? "absent" : "exists";
  const item = make(
    "li",
    { class: kind },
    make("span", { class: "place" }, location === "-" ? "does not exist" : place(location)),
    make("span", { class: "quiet" }, nameSteps(stay)),
  );
  item.style.setProperty("--span", String(last - begin + 1));
  return item;
}

/** The locations of one entity, one after the other; the user picks which. */
export function drawTimeline({ timeline }) {
  const names = Object.keys(timeline);
  const list = make("ol", { class: "timeline", "aria-label": "Locations, one after the other" });
  const select = make(
    "select",
    { id: "timeline-entity", onchange: () => draw() },
    ...names.map((value) => make("option", { value }, value)),
  );
  const draw = () => {
    picked = select.value;
    list.replaceChildren(...timeline[select.value].map(drawStay));
  };
  if (names.includes(picked)) select.value = picked;
  draw();
  const line = make("div", { class: "reading" }, make("label", { for: select.id }, "Entity"), select);
  return [line, list];
}
let picked = null; // stays the same when the grid is decoded again

const depthOf = ({ parts }) => (parts.length ? 1 + Math.max(...parts.map(depthOf)) : 0);

/** The rows of a tree, each a list of cells; `end` is the column of the step that uses it. */
function drawCombination(tree, end = depthOf(tree) + 1) {
  const depth = depthOf(tree);
  const colspan = end - depth;
  if (!tree.parts.length) return [[make("th", { scope: "row", colspan }, first(tree.name))]];
  const rows = tree.parts.flatMap((part) => drawCombination(part, depth));
  const text = `${tree.step}. ${tree.name}`;
  rows[0].push(make("td", { class: "exists", rowspan: rows.length, colspan }, text));
  return rows;
}

/** Ingredients on the left; each step spans all that it combines. */
export function drawRecipe({ recipe }) {
  const { combinations } = recipe;
  const dishes = combinations.filter(({ parts }) => parts.length);
  const alone = combinations.filter(({ parts }) => !parts.length).map(({ name }) => first(name));
  const tables = dishes.map((tree, index) =>
    drawTable(`What is combined, part ${index + 1}`, null, drawCombination(tree), "combinations"),
  );
  const note = alone.length ? `Not combined with anything: ${alone.join(", ")}.` : null;
  return [...tables, ...(note ? [make("p", { class: "quiet" }, note)] : [])];
}

export const VIEWS = {
  locations: drawLocations,
  steps: drawSteps,
  timeline: drawTimeline,
  recipe: drawRecipe,
};
