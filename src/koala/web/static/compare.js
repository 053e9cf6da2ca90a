// Two grids of the same text: which cells differ.

const locationsOf = ({ initial, steps }) => [initial, ...steps.map((cell) => cell.after)];

/** The positions, as [row, step], at which a grid has other locations than the one before it. */
export function findChanged(before, after) {
  const old = new Map(before?.entities.map((entity) => [entity.name, locationsOf(entity)]));
  const isSame = before && before.steps.join("\n") === after.steps.join("\n");
  if (!isSame) return [];
  return after.entities.flatMap((entity, row) => {
    const known = old.get(entity.name);
    const all = known ? locationsOf(entity) : [];
    return all.flatMap((location, index) => (location === known[index] ? [] : [[row, index - 1]]));
  });
}

/** Locations to choose from for a cell, the most probable first: [[name, share?], …]. */
export function listLocations(grid, row, step) {
  const entity = grid.entities[row];
  const shares = Object.entries(entity.steps[step]?.reason?.locations ?? {});
  const found = new Map(shares.sort((one, other) => other[1] - one[1]));
  const others = [entity, ...grid.entities].flatMap((each) => [
    ...locationsOf(each),
    ...each.steps.flatMap(({ reason }) => Object.keys(reason?.locations ?? {})),
  ]);
  for (const location of [...others, "?"]) {
    if (location !== "-" && !found.has(location)) found.set(location, undefined);
  }
  return [...found];
}
