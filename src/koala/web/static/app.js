// The page: input, result, and what joins them.

import { exportGrid, getExamples, getHealth, getView, track } from "./api.js";
import { Chips } from "./chips.js";
import { findChanged, listLocations } from "./compare.js";
import { find, make } from "./dom.js";
import { FORMATS, saveExample, saveGrid } from "./exports.js";
import { Fixes } from "./fixes.js";
import { readDrawing } from "./graph.js";
import { GridTable } from "./grid.js";
import { readLink, writeLink } from "./link.js";
import { Words } from "./marks.js";
import { CellMenu } from "./menu.js";
import { Reading } from "./reading.js";
import { drawReason } from "./reason.js";
import { Tabs } from "./tabs.js";
import { VIEWS } from "./views.js";

const text = find("text");
const state = { id: null, grid: null, request: null, limit: 0 };
const rerun = () => {
  if (state.request) run(); // there is a result, or one is on its way
};
const fixes = new Fixes();
const chips = new Chips(find("chips"), find("new-entity"), rerun);
const reading = new Reading(find("model"), find("reading"), rerun);
const words = new Words(find("steps"));
const tabs = new Tabs(find("views"), () => drawView());
const menu = new CellMenu(find("menu"), (said) => {
  const [row, step] = table.position;
  const { name } = state.grid.entities[row];
  if (said) fixes.set({ entity: name, step: step + 1, ...said });
  else fixes.remove(name, step + 1);
  refix({ canFail: true });
});
const table = new GridTable(find("grid"), {
  onPoint: (row, step) => words.mark(row, step),
  onOpen: (row, step) => {
    const isFixed = Boolean(fixes.get(state.grid.entities[row].name, step + 1));
    const spans = words.findSpans(row, step)[step];
    drawReason(find("reason"), state.grid, row, step, { spans, isFixed });
    words.mark(row, step);
  },
  onAsk: (row, step, anchor) => {
    const { name } = state.grid.entities[row];
    menu.open({
      anchor,
      name,
      title: `${name}, ${step < 0 ? "before step 1" : `step ${step + 1}`}`,
      isStart: step < 0,
      isFixed: Boolean(fixes.get(name, step + 1)),
      locations: listLocations(state.grid, row, step),
    });
  },
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
function run({ seeks = false, onFail = () => {} } = {}) {
  say("");
  menu.hide();
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
    if (chips.names.length) fixes.keep(chips.names);
    if (fixes.list.length) input.fixed = fixes.list;
    say("Tracking …");
    find("result").setAttribute("aria-busy", "true");
    try {
      show(await track(input, request.signal), { areOwn: chips.areOwn });
    } catch (error) {
      if (error.name !== "AbortError") {
        say("");
        onFail();
      }
      throw error;
    } finally {
      if (state.request === request) find("result").removeAttribute("aria-busy");
    }
  });
}

/** Decode again after the fixes have changed; one that cannot be true is taken back. */
function refix({ canFail = false } = {}) {
  dropLink();
  return run({
    onFail: () => {
      if (canFail) fixes.undo();
      drawFixes();
    },
  });
}

function show(grid, { areOwn }) {
  const { position, hasFocus } = table;
  const isSame = position && state.grid?.steps.join("\n") === grid.steps.join("\n");
  const changed = fixes.canUndo ? findChanged(state.grid, grid) : [];
  state.grid = grid;
  reading.show(grid);
  chips.set(grid.entities.map((entity) => entity.name), { areOwn });
  words.show(grid, text.value);
  find("result").hidden = false;
  table.draw(grid, { isFixed: (name, step) => Boolean(fixes.get(name, step)), changed });
  if (isSame && table.cellAt(...position)) table.open(...position);
  else openFirstChange(grid);
  if (hasFocus) table.focus();
  find("example-title").value = state.id ?? grid.steps[0].replace(/[.!?]$/, "").slice(0, 80);
  tell(grid, changed);
  complain((grid.warnings ?? []).join(" "));
  drawFixes();
  tabs.offer(find("tab-recipe"), reading.isRecipe(grid));
  drawView();
  drawGraph(grid);
}

const count = (number, one, many) => `${number} ${number === 1 ? one : many}`;

function tell(grid, changed) {
  const others = changed.filter(([row, step]) => !fixes.get(grid.entities[row].name, step + 1));
  const followed = others.length ? ` ${count(others.length, "other cell", "other cells")} changed.` : "";
  say(
    `${count(grid.entities.length, "entity", "entities")}, ` +
      `${count(grid.steps.length, "step", "steps")}.${followed}`,
  );
}

function drawFixes() {
  const { length } = fixes.list;
  const { activeElement } = document;
  find("fixes").hidden = !length && !fixes.canUndo;
  find("undo").disabled = !fixes.canUndo;
  find("clear").disabled = !length;
  find("fixes-count").textContent = length ? `${count(length, "cell", "cells")} fixed.` : "No cell is fixed.";
  // A button that can no longer be pressed gives the keyboard back to the grid.
  const isButton = find("fixes").contains(activeElement);
  if (isButton && (activeElement.disabled || find("fixes").hidden)) table.focus();
}

function undo() {
  if (!fixes.canUndo) return;
  fixes.undo();
  refix();
}

function drawView() {
  const name = tabs.current.dataset.view;
  if (!VIEWS[name] || !state.grid) return undefined;
  return attempt(async () => {
    const { grid } = state;
    const view = await getView(grid, name, state.request.signal);
    if (grid === state.grid) find(`panel-${name}`).replaceChildren(...VIEWS[name](view));
  });
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
    const answer = await exportGrid(grid, "svg", { signal: state.request.signal });
    const drawing = readDrawing(await answer.text());
    find("graph").replaceChildren(...(drawing ? [drawing] : []));
    find("graph-section").hidden = !drawing;
  });
}

function copyLink() {
  return attempt(async () => {
    const entities = chips.areOwn ? chips.names : null;
    const fixed = fixes.list.length ? fixes.list : undefined;
    const input = { id: state.id ?? undefined, text: text.value, entities, model: reading.model, fixed };
    history.replaceState(null, "", writeLink(input));
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied. It holds the text itself; nothing was sent.");
    } catch {
      say("The link stands in the address bar. It holds the text itself; nothing was sent.");
    }
  });
}

/** The link of the address no longer says what is here. */
function dropLink() {
  if (location.hash) history.replaceState(null, "", location.pathname);
}

function fill({ id, text: content, entities, model, fixed = [] }) {
  state.id = id || null;
  state.grid = null;
  fixes.reset(fixed);
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
  dropLink();
  fixes.reset();
  drawFixes();
  reading.forget();
  // Entities that were found in the old text are not those of the new one.
  if (!chips.areOwn) chips.set([], { areOwn: false });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
find("grid").addEventListener("keydown", (event) => {
  if (event.key === "z" && (event.ctrlKey || event.metaKey)) undo();
});
find("undo").addEventListener("click", undo);
find("clear").addEventListener("click", () => {
  fixes.clear();
  refix();
});
find("example").addEventListener("submit", (event) => {
  event.preventDefault();
  const [title, topic] = [find("example-title"), find("example-topic")].map((field) => field.value.trim());
  attempt(() => saveExample(state.grid, { title, topic: topic || "examples" }));
});
find("track").addEventListener("click", () => run());
find("find").addEventListener("click", () => run({ seeks: true }));
find("link").addEventListener("click", copyLink);
find("exports").append(
  ...Object.entries(FORMATS).map(([format, [label]]) =>
    make("button", { type: "button", onclick: () => attempt(() => saveGrid(state.grid, format, state.limit)) }, label),
  ),
);
window.addEventListener("hashchange", restore);
attempt(drawExamples);
// A link may name a model: first those that are here.
attempt(drawAbout).then(restore);
