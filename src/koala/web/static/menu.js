// The menu of a cell: what is true of it, if the grid is wrong.

import { named, percent, SYMBOLS } from "./cells.js";
import { make } from "./dom.js";

const N_LOCATIONS = 8;
const CREATE = { action: "CREATE" };
const MOVE = { action: "MOVE" };

/** The choices of a cell: symbol, label, what it says; `asks` where a location follows. */
const CHOICES = [
  { symbol: SYMBOLS.exists, label: "unchanged", says: { action: "NONE" } },
  { symbol: SYMBOLS.create, label: "created at …", says: CREATE, asks: "is created at" },
  { symbol: SYMBOLS.move, label: "moved to …", says: MOVE, asks: "is moved to" },
  { symbol: SYMBOLS.destroy, label: "destroyed", says: { action: "DESTROY" } },
  { symbol: SYMBOLS.absent, label: "does not exist", says: { location: "-" } },
  { symbol: "@", label: "at another location …", says: {}, asks: "is at" },
];
const START_CHOICES = CHOICES.filter(({ says }) => !says.action);

export class CellMenu {
  /** `box` is shown beside a cell; `onChoose(said)` hears what is true, null: nothing is fixed. */
  constructor(box, onChoose) {
    this.box = box;
    this.onChoose = onChoose;
    box.addEventListener("keydown", (event) => this.walk(event));
    box.addEventListener("focusout", ({ relatedTarget }) => {
      // A click on the page has no target; `closeOutside` sees it.
      if (relatedTarget && !box.contains(relatedTarget) && relatedTarget !== this.anchor) this.hide();
    });
    document.addEventListener("pointerdown", ({ target }) => {
      if (!box.contains(target)) this.hide();
    });
  }

  /** Ask what is true of a cell. `isStart`: before step 1; `locations`: [[name, share?], …]. */
  open({ anchor, title, name, isStart, isFixed, locations }) {
    Object.assign(this, { anchor, title, name, isStart, isFixed, locations });
    this.box.hidden = false;
    this.drawChoices();
    this.place();
  }

  /** Close it; the keyboard goes back to the cell. */
  close() {
    this.hide();
    this.anchor?.focus({ preventScroll: true });
  }

  hide() {
    this.box.hidden = true;
  }

  choose(said) {
    this.close();
    this.onChoose(said);
  }

  draw(title, ...content) {
    this.box.replaceChildren(make("h3", { id: "menu-title" }, title), ...content);
    this.box.querySelector("button").focus({ preventScroll: true });
  }

  drawButton(label, onclick, { symbol, note } = {}) {
    return make(
      "button",
      { type: "button", onclick },
      symbol ? make("span", { class: "mark", "aria-hidden": "true" }, symbol) : null,
      make("span", {}, label),
      note ? make("span", { class: "quiet" }, note) : null,
    );
  }

  drawChoices() {
    const choices = this.isStart ? START_CHOICES : CHOICES;
    const buttons = choices.map((choice) =>
      this.drawButton(
        choice.label,
        () => (choice.asks ? this.drawLocations(choice) : this.choose(choice.says)),
        choice,
      ),
    );
    const remove = this.drawButton("as koala thinks", () => this.choose(null), { symbol: "↺" });
    this.draw(`${this.title}: what is true?`, ...buttons, ...(this.isFixed ? [remove] : []));
  }

  drawLocations({ asks, says }) {
    const pick = (location) => this.choose({ ...says, location });
    const buttons = this.locations
      .slice(0, N_LOCATIONS)
      .map(([location, share]) =>
        this.drawButton(named(location), () => pick(location), {
          note: share === undefined ? null : percent(share),
        }),
      );
    const free = says.action
      ? [this.drawButton("where it fits best", () => this.choose(says))]
      : [];
    this.draw(`${this.name} ${asks} …`, ...buttons, ...free, this.drawField(pick));
    this.place();
  }

  drawField(pick) {
    const field = make("input", {
      id: "menu-location",
      list: "menu-locations",
      autocomplete: "off",
      maxlength: 200,
      placeholder: "another one",
      "aria-label": "Another location",
    });
    const names = this.locations.map(([location]) => location).filter((each) => each !== "?");
    const send = (event) => {
      event.preventDefault();
      if (field.value.trim()) pick(field.value.trim());
      else field.focus();
    };
    return make(
      "form",
      { onsubmit: send },
      field,
      make("datalist", { id: "menu-locations" }, ...names.map((value) => make("option", { value }))),
      make("button", { type: "submit" }, "Set"),
    );
  }

  /** Put it below the cell, or as near as the page is wide. */
  place() {
    const around = this.box.offsetParent.getBoundingClientRect();
    const cell = this.anchor.getBoundingClientRect();
    const most = Math.max(0, around.width - this.box.offsetWidth);
    const left = Math.min(Math.max(0, cell.left - around.left), most);
    this.box.style.setProperty("left", `${left}px`);
    this.box.style.setProperty("top", `${cell.bottom - around.top + 4}px`);
    this.box.scrollIntoView({ block: "nearest" });
  }

  walk(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      this.close();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target.matches("input")) return;
    event.preventDefault();
    const stops = [...this.box.querySelectorAll("button, input")];
    const next = stops.indexOf(event.target) + step;
    stops[(next + stops.length) % stops.length].focus();
  }
}
