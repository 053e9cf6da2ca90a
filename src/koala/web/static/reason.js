// Why a cell is what it is: the sentence, the probabilities, the triples.

import { isUnnamed, kindOf, named, percent, tell, tellConfidence, tellStart } from "./cells.js";
import { hidden, make } from "./dom.js";
import { markSpans } from "./marks.js";

const ACTIONS = { NONE: "nothing happens", CREATE: "created", MOVE: "moved", DESTROY: "destroyed" };

/** A list of bars: [[label, share, whether it was chosen], …]. */
function drawBars(title, rows, note) {
  const items = rows.map(([label, share, isChosen]) => {
    const bar = make("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", String(share));
    return make(
      "li",
      { class: isChosen ? "chosen" : null },
      make("span", { class: "bar-label" }, label, isChosen ? hidden(" (chosen)") : null),
      make("span", { class: "bar-share" }, percent(share)),
      bar,
    );
  });
  return make(
    "div",
    {},
    make("h3", {}, title),
    items.length ? make("ul", { class: "bars" }, ...items) : null,
    note ? make("p", { class: "quiet" }, note) : null,
  );
}

const best = (shares) => Object.entries(shares).sort((one, other) => other[1] - one[1]);

function drawStart(box, { name, initial }, isFixed) {
  box.replaceChildren(
    make("h2", { id: "reason-title" }, `${name}, before step 1`),
    make(
      "p",
      { class: "told" },
      make("span", { class: `key ${initial === "-" ? "absent" : "exists"}` }, tellStart(initial)),
      make("span", { class: "quiet" }, tellConfidence({ fixed: isFixed })),
    ),
  );
}

/** Draw the reason for a cell into `box`; `spans` are the words to mark in its step. */
export function drawReason(box, grid, row, step, { spans, isFixed }) {
  const entity = grid.entities[row];
  if (step < 0) {
    drawStart(box, entity, isFixed);
    return;
  }
  const cell = entity.steps[step];
  const { reason } = cell;
  const actions = best(reason.actions).map(([action, share]) => [
    ACTIONS[action],
    share,
    action === cell.action,
  ]);
  const locations = best(reason.locations).map(([location, share]) => [named(location), share, location === cell.after]);
  const triples = reason.triples.map((triple) => [triple.sentence, triple.weight, false]);
  box.replaceChildren(
    make("h2", { id: "reason-title" }, `${entity.name}, step ${step + 1}`),
    make(
      "p",
      { class: "told" },
      make("span", { class: `key ${kindOf(cell)}` }, tell(cell)),
      make("span", { class: "quiet" }, tellConfidence(cell)),
      isUnnamed(cell.after, cell.location_span)
        ? make("span", { class: "quiet" }, `The text does not name ${cell.after}.`)
        : null,
    ),
    make("blockquote", {}, ...markSpans(grid.steps[step], spans)),
    make(
      "div",
      { class: "bars-line" },
      drawBars("What happens", actions),
      drawBars("Where it is after the step", locations, `It exists then with ${percent(reason.exists)}.`),
      drawBars(
        "What is known",
        triples,
        triples.length ? "Each with its share of the attention." : "No commonsense facts were read for it.",
      ),
    ),
  );
}
