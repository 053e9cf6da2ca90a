// The words that a cell stands on, marked in the text.

import { make } from "./dom.js";

/** A text with spans marked: [[start, stop, class], …], counted in Unicode characters. */
export function markSpans(text, spans) {
  // JavaScript counts halves of some characters.
  const letters = Array.from(text);
  const parts = [];
  let end = 0;
  for (const [start, stop, kind] of [...spans].sort((one, other) => one[0] - other[0])) {
    if (start < end || stop > letters.length) continue;
    const words = letters.slice(start, stop).join("");
    parts.push(letters.slice(end, start).join(""), make("mark", { class: kind }, words));
    end = stop;
  }
  return [...parts, letters.slice(end).join("")];
}

export class Words {
  /** `list` holds the steps of the text as items. */
  constructor(list) {
    this.list = list;
  }

  show(grid, text) {
    this.grid = grid;
    this.letters = Array.from(text);
    this.list.replaceChildren(...grid.steps.map((step) => make("li", {}, step)));
  }

  /** Mark the words of a cell: the mentions of the entity in the step, and the location. */
  mark(row, step) {
    const spans = this.findSpans(row, step);
    for (const [number, item] of [...this.list.children].entries()) {
      item.classList.toggle("current", number === step);
      item.replaceChildren(...markSpans(this.grid.steps[number], spans[number]));
    }
  }

  /** The spans of a cell in each step, counted from the start of the step. */
  findSpans(row, step) {
    const { mentions, steps, initial_span: initial } = this.grid.entities[row];
    const spans = this.grid.steps.map(() => []);
    const cell = steps[step];
    if (cell?.reason) {
      spans[step].push(...cell.reason.mentions.map(([start, stop]) => [start, stop, "entity"]));
    } else {
      const here = (mentions ?? []).filter((mention) => mention.step === step + 1);
      for (const mention of here) this.addSpan(spans, mention, "entity");
    }
    this.addSpan(spans, cell ? cell.location_span : initial, "location");
    return spans;
  }

  /** Add a span of the whole text to the step that it is in. */
  addSpan(spans, span, kind) {
    const around = this.grid.step_spans ?? [];
    const number = around.findIndex(({ start, end }) => span && start <= span.start && span.end <= end);
    if (number < 0) return;
    const words = this.letters.slice(span.start, span.end).join("");
    const step = this.grid.steps[number];
    // A step may lack characters of the text, such as asterisks around bold words.
    let at = span.start - around[number].start;
    if (Array.from(step).slice(at, at + span.end - span.start).join("") !== words) {
      const found = step.indexOf(words);
      if (found < 0) return;
      at = Array.from(step.slice(0, found)).length;
    }
    spans[number].push([at, at + span.end - span.start, kind]);
  }
}
