// What a cell says, in a word and in a sentence.

export const SYMBOLS = { create: "+", move: "→", destroy: "×", exists: "·", absent: "-" };

/** How a cell looks: its action or, where nothing happens, whether the entity is there. */
export function kindOf(cell) {
  if (cell.action !== "NONE") return cell.action.toLowerCase();
  return cell.after === "-" ? "absent" : "exists";
}

export const named = (location) => (location === "?" ? "an unknown location" : location);

export const percent = (share) => `${Math.round(share * 100)}%`;

/** Say what happens in a cell. */
export function tell(cell) {
  return {
    create: `created at ${named(cell.after)}`,
    move: `moved from ${named(cell.before)} to ${named(cell.after)}`,
    destroy: `destroyed at ${named(cell.before)}`,
    exists: `still at ${named(cell.after)}`,
    absent: "does not exist",
  }[kindOf(cell)];
}

/** Say what holds before step 1. */
export const tellStart = (location) => (location === "-" ? "does not exist" : `at ${named(location)}`);

/** Say how sure it is, if that is known. */
export function tellConfidence({ confidence, fixed }) {
  if (fixed) return "fixed by you";
  return confidence === undefined ? "" : `${percent(confidence)} confident`;
}

/** Tell whether a location is not in the text, as far as the grid says where it is. */
export const isUnnamed = (location, span) => span === null && location !== "-" && location !== "?";
