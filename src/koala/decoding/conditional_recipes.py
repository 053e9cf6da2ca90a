"""Joint recipe decoding under fixed cells.

A step of a recipe has one location for all ingredients it uses, so a fixed cell of one ingredient
says something about the others. The most probable trajectory of each ingredient with fixed cells
tells which steps bring it there; the scores of these steps are clamped, and all ingredients are
then decoded as without fixed cells.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from koala.decoding.conditional import Fix, Fixes, Floats, Ints, TrajectoryChain
from koala.decoding.recipes import NOWHERE, PARTICIPATING, SOMEWHERE
from koala.decoding.viterbi import IMPOSSIBLE, TAGS
from koala.errors import KoalaError
from koala.grid.states import Tag
from koala.network.output import Output

Path = tuple[tuple[Tag, ...], tuple[int, ...]]
"""Tags of all steps; locations before the first step and after every step."""


class IngredientChain(TrajectoryChain):
    """The chain of one ingredient: absent before its first use, and never destroyed.

    A step that uses an ingredient and has no location leaves it where it is.
    """

    def __init__(self, output: Output, index: int, fixes: Fixes) -> None:
        super().__init__(output, index, {0: Fix(location=NOWHERE), **fixes})

    def _follow(self, before: Ints) -> Floats:
        is_used = self._tags == TAGS.index(Tag.M)
        is_same = before[:, None] == self._locations[None, :]
        barred = np.where(is_used & is_same, 0.0, super()._follow(before))
        # Without a location, the step leaves the ingredient where it is.
        barred[(is_used & (self._locations == SOMEWHERE))[None, :] & ~is_same] = IMPOSSIBLE
        barred[:, np.isin(self._tags, [TAGS.index(Tag.D), TAGS.index(Tag.O_D)])] = IMPOSSIBLE
        return barred

    def _arrive(self, arrivals: Floats, before: Ints) -> Floats:
        is_used = self._tags == TAGS.index(Tag.M)
        here = arrivals[self._locations.clip(min=0)]
        gain = np.where(is_used | (self._tags == TAGS.index(Tag.C)), here, 0.0)
        is_same = (before[:, None] == self._locations[None, :]) & is_used
        stays = np.logaddexp(here, arrivals[SOMEWHERE])
        is_unknown = self._locations == SOMEWHERE
        return np.where(is_same & ~is_unknown, stays, gain)


def fix_recipe(output: Output, fixes: Sequence[Fixes], entities: Sequence[str] = ()) -> Output:
    """Clamp the participation and step locations of a recipe to the fixes of its ingredients."""
    wanted = [index for index, own in enumerate(fixes) if own]
    for index in wanted:
        _check_fixes(fixes[index], entities[index] if entities else "An ingredient")
    try:
        return _clamp_all(output, fixes, wanted, entities)
    except KoalaError:
        # The first ingredient may have taken a step that the second needs; it has other ways.
        return _clamp_all(output, fixes, reversed(wanted), entities)


def _check_fixes(fixes: Fixes, name: str) -> None:
    before = fixes.get(0)
    if before is not None and before.location not in (None, NOWHERE):
        raise KoalaError(
            f"{name}: a location before the first step is fixed, but ingredients of recipes have "
            "none before their first use. Fix a later step, or read the text as another procedure."
        )
    if any(fix.tags == {Tag.D} for fix in fixes.values()):
        raise KoalaError(
            f"{name}: DESTROY is fixed, but ingredients of recipes are never destroyed. Read the "
            "text as another procedure to fix this."
        )


def _clamp_all(
    output: Output, fixes: Sequence[Fixes], order: Iterable[int], entities: Sequence[str]
) -> Output:
    for index in order:
        try:
            path = IngredientChain(output, index, fixes[index]).decode_tags()
        except KoalaError:
            start = f"{entities[index]}: " if entities else ""
            raise KoalaError(
                f"{start}The fixed cells contradict each other: in a recipe, a step has one "
                "location, and ingredients never cease to exist."
            ) from None
        output = _clamp(output, index, path, fixes[index])
    return output


def _clamp(output: Output, index: int, path: Path, fixes: Fixes) -> Output:
    """Keep to the path in the steps on which the fixed cells depend."""
    tags, locations = output.tags.copy(), output.locations.copy()
    own_tags, row = path
    for step in _find_steps(path, fixes):
        is_used = own_tags[step - 1] in PARTICIPATING
        others = [n for n, tag in enumerate(TAGS) if (tag in PARTICIPATING) != is_used]
        tags[index, step - 1, others] = IMPOSSIBLE
        if is_used:
            stays = row[step] == row[step - 1]
            allowed = [row[step], SOMEWHERE] if stays else [row[step]]
            barred = np.setdiff1d(np.arange(locations.shape[-1]), allowed)
            locations[:, step, barred] = IMPOSSIBLE
    return replace(output, tags=tags, locations=locations)


def _find_steps(path: Path, fixes: Fixes) -> set[int]:
    """Give the steps that decide the fixed cells: from the last arrival up to the fixed one."""
    found: set[int] = set()
    for position, fix in fixes.items():
        if position == 0:
            continue
        first = position if fix.location is None else _find_arrival(path, position)
        if fix.must_move:
            # It moves if it was elsewhere before.
            first = _find_arrival(path, position - 1)
        if fix.tags == {Tag.C}:
            first = 1
        found |= set(range(max(first, 1), position + 1))
    return found


def _find_arrival(path: Path, position: int) -> int:
    """Give the last step up to a position that changed the location; 1 if none did."""
    _, row = path
    return next((step for step in range(position, 0, -1) if row[step] != row[step - 1]), 1)
