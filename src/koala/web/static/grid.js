// The grid as a table that can be walked with the arrow keys.

import { kindOf, percent, SYMBOLS, tell, tellConfidence } from "./cells.js";
import { hidden, make } from "./dom.js";

/** Draw a grid into `box`; `onOpen(entity, step)` hears which cell is opened. */
export class GridTable {
  constructor(box, onOpen) {
    this.box = box;
    this.onOpen = onOpen;
    this.cells = [];
    box.addEventListener("keydown", (event) => this.walk(event));
  }

  draw(grid) {
    this.cells = grid.entities.map((entity, row) =>
      entity.steps.map((cell, step) => this.drawCell(cell, row, step, grid.steps[step])),
    );
    const numbers = grid.steps.map((sentence, step) =>
      make("th", { scope: "col", title: sentence }, hidden("Step "), String(step + 1)),
    );
    const head = make(
      "tr",
      {},
      make("th", { scope: "col" }, "Entity"),
      make("th", { scope: "col" }, "Before"),
      ...numbers,
    );
    const rows = grid.entities.map((entity, row) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, entity.name),
        make("td", { class: `start ${entity.initial === "-" ? "absent" : "exists"}` }, entity.initial),
        ...this.cells[row],
      ),
    );
    const table = make(
      "table",
      { role: "grid", "aria-labelledby": "grid-title", "aria-describedby": "grid-hint" },
      make("thead", {}, head),
      make("tbody", {}, ...rows),
    );
    this.box.replaceChildren(table);
    this.opened = null;
  }

  drawCell(cell, row, step, sentence) {
    const kind = kindOf(cell);
    return make(
      "td",
      {
        class: kind,
        role: "gridcell",
        tabindex: "-1",
        title: sentence,
        "aria-label": [tell(cell), tellConfidence(cell)].filter(Boolean).join(", "),
        "aria-selected": "false",
        onclick: () => this.open(row, step),
        onfocus: () => {
          this.mark(row, step);
          this.reveal(this.current);
        },
      },
      make("span", { class: "mark" }, SYMBOLS[kind]),
      make("span", { class: "place" }, cell.after === "-" ? "" : cell.after),
      cell.confidence === undefined
        ? null
        : make("span", { class: "confidence" }, percent(cell.confidence)),
    );
  }

  /** The one cell that the Tab key comes to. */
  mark(row, step) {
    this.current?.setAttribute("tabindex", "-1");
    this.current = this.cells[row][step];
    this.current.setAttribute("tabindex", "0");
    this.position = [row, step];
  }

  open(row, step) {
    this.mark(row, step);
    this.opened?.setAttribute("aria-selected", "false");
    this.opened = this.cells[row][step];
    this.opened.setAttribute("aria-selected", "true");
    this.reveal(this.opened);
    this.onOpen(row, step);
  }

  /** Bring a cell out from under the names and the edge, without moving the page. */
  reveal(cell) {
    const names = this.box.querySelector("th").offsetWidth;
    const { offsetLeft: left, offsetWidth: width } = cell;
    const { scrollLeft, clientWidth } = this.box;
    if (left < scrollLeft + names) this.box.scrollLeft = left - names;
    else if (left + width > scrollLeft + clientWidth) this.box.scrollLeft = left + width - clientWidth;
  }

  walk(event) {
    const cell = event.target.closest?.('[role="gridcell"]');
    if (!cell || event.altKey || event.metaKey) return;
    const [row, step] = this.position;
    const lastRow = this.cells.length - 1;
    const lastStep = this.cells[row].length - 1;
    const whole = event.ctrlKey;
    const targets = {
      ArrowUp: [row - 1, step],
      ArrowDown: [row + 1, step],
      ArrowLeft: [row, step - 1],
      ArrowRight: [row, step + 1],
      Home: [whole ? 0 : row, 0],
      End: [whole ? lastRow : row, lastStep],
    };
    if (event.key === "Enter" || event.key === " ") this.open(row, step);
    else if (!targets[event.key]) return;
    else {
      const [nextRow, nextStep] = targets[event.key];
      this.cells[nextRow]?.[nextStep]?.focus();
    }
    event.preventDefault();
  }
}
