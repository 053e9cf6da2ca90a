// How a text is read: as what it is taken for, or as what the user says it is.

import { make } from "./dom.js";

const AUTO = "auto";
const KINDS = { small: "process", recipes: "recipe" };
const kindOf = (name) => KINDS[name] ?? name;

export class Reading {
  /** `select` holds the choices, in a `line` that is shown where there are any. */
  constructor(select, line, onChange) {
    this.select = select;
    this.line = line;
    this.models = [];
    select.addEventListener("change", () => {
      this.forget();
      onChange();
    });
  }

  /** Offer the models of the server. */
  offer(models) {
    this.models = models;
    this.automatic = make("option", { value: AUTO }, "automatic");
    const others = models.map(({ name }) => make("option", { value: name }, kindOf(name)));
    this.select.replaceChildren(this.automatic, ...others);
    this.line.hidden = models.length < 2;
  }

  /** What the user chose; none is said where the server is to choose. */
  get model() {
    return this.select.value && this.select.value !== AUTO ? this.select.value : undefined;
  }

  set model(name) {
    const isOffered = this.models.some((model) => model.name === name);
    this.select.value = isOffered ? name : AUTO;
    this.forget();
  }

  /** Say what a text was taken for. */
  show({ signature }) {
    const model = this.models.find((each) => each.signature === signature);
    if (model && !this.model) this.automatic.textContent = `automatic (${kindOf(model.name)})`;
  }

  /** Tell whether a grid was made by the model of recipes. */
  isRecipe({ signature }) {
    return this.models.some((model) => /recipes/.test(model.name) && model.signature === signature);
  }

  /** Say nothing of a text that was not read yet. */
  forget() {
    if (this.automatic) this.automatic.textContent = "automatic";
  }
}
