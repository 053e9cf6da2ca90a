// The entities as chips: to add, to rename, to remove.

import { make } from "./dom.js";

export class Chips {
  /** `list` holds the chips, `input` takes new names; `onChange` hears of what the user does. */
  constructor(list, input, onChange) {
    this.list = list;
    this.input = input;
    this.onChange = onChange;
    this.names = [];
    this.areOwn = false; // whether the user chose them, so that they are not found anew
    input.addEventListener("keydown", (event) => {
      // With Ctrl the page tracks, and takes what stands here on the way.
      const isPlain = !event.isComposing && !event.ctrlKey && !event.metaKey;
      if (event.key === "Enter" && isPlain && this.take()) this.onChange();
      if (event.key === "Backspace" && !input.value && this.names.length) {
        list.lastElementChild.querySelector(".name").focus();
      }
    });
  }

  set(names, { areOwn }) {
    const isSame = names.length === this.names.length && names.every((n, i) => n === this.names[i]);
    this.names = [...names];
    this.areOwn = areOwn;
    // A chip that is drawn anew would lose the keyboard.
    if (!isSame) this.draw();
  }

  /** Add what stands in the field; tell whether anything did. */
  take() {
    const name = this.input.value.trim();
    this.input.value = "";
    if (name) this.set([...this.names, name], { areOwn: true });
    return Boolean(name);
  }

  change(names) {
    this.set(names, { areOwn: names.length > 0 });
    this.onChange();
  }

  remove(index) {
    this.change(this.names.filter((_, other) => other !== index));
    // The keyboard goes on where the chip was.
    const next = this.list.children[Math.min(index, this.names.length - 1)];
    (next?.querySelector(".remove") ?? this.input).focus();
  }

  draw() {
    this.list.replaceChildren(...this.names.map((name, index) => this.drawChip(name, index)));
  }

  drawChip(name, index) {
    return make(
      "li",
      { class: "chip" },
      make(
        "button",
        {
          type: "button",
          class: "name",
          title: "Rename",
          "aria-label": `${name}, rename`,
          onclick: () => this.edit(index),
          onkeydown: (event) => {
            if (event.key === "Delete" || event.key === "Backspace") this.remove(index);
          },
        },
        name,
      ),
      make(
        "button",
        {
          type: "button",
          class: "remove",
          "aria-label": `Remove ${name}`,
          onclick: () => this.remove(index),
        },
        "×",
      ),
    );
  }

  edit(index) {
    const old = this.names[index];
    let isDone = false;
    const finish = (isKept) => {
      if (isDone) return;
      isDone = true;
      const name = field.value.trim();
      const isNew = isKept && name && name !== old;
      if (isNew) {
        this.names[index] = name;
        this.areOwn = true;
      }
      // Only this chip is drawn anew: the user may be about to click another.
      this.list.children[index].replaceWith(this.drawChip(this.names[index], index));
      if (isNew) this.onChange();
    };
    const field = make("input", {
      class: "rename",
      value: old,
      size: Math.max(old.length, 6),
      "aria-label": `New name of ${old}`,
      onkeydown: (event) => {
        if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
        event.preventDefault(); // else Enter would press what gets the keyboard next
        finish(event.key === "Enter");
        this.list.children[index]?.querySelector(".name").focus();
      },
      onblur: () => finish(true),
    });
    this.list.children[index].replaceChildren(field);
    field.focus();
    field.select();
  }
}
