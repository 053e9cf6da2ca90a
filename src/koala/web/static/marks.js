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

/** Where each step begins in the text, in Unicode characters; null where it is not found. */
function findStarts(steps, text) {
  let from = 0;
  return steps.map((step) => {
    const at = text.indexOf(step, from);
    if (at < 0) return null;
    from = at + step.length;
    return Array.from(text.slice(0, at)).length;
  });
}

export class Words {
  /** `list` holds the steps of the text as items. */
  constructor(list) {
    this.list = list;
  }

  show(grid, text) {
    this.grid = grid;
    this.starts = findStarts(grid.steps, text);
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
    if (mentions) {
      const here = mentions.filter((mention) => mention.step === step + 1);
      for (const mention of here) this.addSpan(spans, mention, "entity");
    } else if (cell?.reason) {
      spans[step].push(...cell.reason.mentions.map(([start, stop]) => [start, stop, "entity"]));
    }
    this.addSpan(spans, cell ? cell.location_span : initial, "location");
    return spans;
  }

  /** Add a span of the whole text to the step that it is in. */
  addSpan(spans, span, kind) {
    if (!span) return;
    for (const [number, start] of this.starts.entries()) {
      const length = Array.from(this.grid.steps[number]).length;
      if (start === null || span.start < start || span.end > start + length) continue;
      spans[number].push([span.start - start, span.end - start, kind]);
    }
  }
}
