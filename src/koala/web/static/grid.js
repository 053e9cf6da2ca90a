// The grid as a table that can be walked with the arrow keys. Step -1 is before the first one.

import { kindOf, percent, SYMBOLS, tell, tellConfidence, tellStart } from "./cells.js";
import { hidden, make } from "./dom.js";

const START = -1;

export class GridTable {
  /**
   * Draw grids into `box`. `onOpen(row, step)` hears which cell is shown, `onAsk` which one the user
   * wants to fix, and `onPoint` which one is pointed at.
   */
  constructor(box, { onOpen, onAsk, onPoint }) {
    this.box = box;
    this.onOpen = onOpen;
    this.onAsk = onAsk;
    this.onPoint = onPoint;
    this.cells = [];
    this.position = null;
    box.addEventListener("keydown", (event) => this.walk(event));
    box.addEventListener("mouseleave", () => this.position && this.onPoint(...this.position));
  }

  get hasFocus() {
    return this.box.contains(document.activeElement);
  }

  cellAt(row, step) {
    return this.cells[row]?.[step - START];
  }

  /** `isFixed(entity, step)` tells of a cell before step 1; `changed` are positions to show. */
  draw(grid, { isFixed, changed }) {
    this.cells = grid.entities.map((entity, row) => [
      this.drawStart(entity, row, isFixed(entity.name, 0)),
      ...entity.steps.map((cell, step) => this.drawCell(cell, row, step, grid.steps[step])),
    ]);
    for (const [row, step] of changed) this.cellAt(row, step).classList.add("changed");
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
      make("tr", {}, make("th", { scope: "row" }, entity.name), ...this.cells[row]),
    );
    const table = make(
      "table",
      { role: "grid", "aria-labelledby": "tab-grid", "aria-describedby": "grid-hint" },
      make("thead", {}, head),
      make("tbody", {}, ...rows),
    );
    this.box.replaceChildren(table);
    this.opened = null;
    this.position = null;
  }

  drawStart({ initial }, row, isFixed) {
    const kind = initial === "-" ? "absent" : "exists";
    const label = [tellStart(initial), tellConfidence({ fixed: isFixed })];
    return this.drawBox(row, START, { kind: `start ${kind}`, label, isFixed }, [
      make("span", { class: "place" }, initial),
      isFixed ? make("span", { class: "confidence" }, "fixed") : null,
    ]);
  }

  drawCell(cell, row, step, sentence) {
    const kind = kindOf(cell);
    const share = cell.confidence === undefined ? null : percent(cell.confidence);
    const isFixed = Boolean(cell.fixed);
    const label = [tell(cell), tellConfidence(cell)];
    return this.drawBox(row, step, { kind, label, isFixed, title: sentence }, [
      make("span", { class: "mark" }, SYMBOLS[kind]),
      make("span", { class: "place" }, cell.after === "-" ? "" : cell.after),
      isFixed || share ? make("span", { class: "confidence" }, isFixed ? "fixed" : share) : null,
    ]);
  }

  drawBox(row, step, { kind, label, isFixed, title }, content) {
    return make(
      "td",
      {
        class: isFixed ? `${kind} fixed` : kind,
        role: "gridcell",
        tabindex: "-1",
        title,
        "aria-label": label.filter(Boolean).join(", "),
        "aria-selected": "false",
        "aria-haspopup": "dialog",
        onclick: () => this.ask(row, step),
        onmouseenter: () => this.onPoint(row, step),
        onfocus: () => {
          this.mark(row, step);
          this.reveal(this.current);
          this.onPoint(row, step);
        },
      },
      ...content,
    );
  }

  /** The one cell that the Tab key comes to. */
  mark(row, step) {
    this.current?.setAttribute("tabindex", "-1");
    this.current = this.cellAt(row, step);
    this.current.setAttribute("tabindex", "0");
    this.position = [row, step];
  }

  open(row, step) {
    this.mark(row, step);
    this.opened?.setAttribute("aria-selected", "false");
    this.opened = this.cellAt(row, step);
    this.opened.setAttribute("aria-selected", "true");
    this.reveal(this.opened);
    this.onOpen(row, step);
  }

  ask(row, step) {
    this.open(row, step);
    this.onAsk(row, step, this.opened);
  }

  focus() {
    this.current.focus({ preventScroll: true });
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
    const lastStep = this.cells[row].length - 1 + START;
    const whole = event.ctrlKey;
    const targets = {
      ArrowUp: [row - 1, step],
      ArrowDown: [row + 1, step],
      ArrowLeft: [row, step - 1],
      ArrowRight: [row, step + 1],
      Home: [whole ? 0 : row, START],
      End: [whole ? lastRow : row, lastStep],
    };
    if ((event.key === "Enter" && !whole) || event.key === " ") this.ask(row, step);
    else if (!targets[event.key]) return;
    else this.cellAt(...targets[event.key])?.focus();
    event.preventDefault();
  }
}
