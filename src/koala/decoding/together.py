"""All ingredients of a recipe together.

A step has one place at most, and what it uses is there afterwards. Where it has none, what it uses
for the first time is somewhere (`?`), and all else stays. docs/recipes.md says how this was found
in the annotations. The scores of a place are here those of the place of a *step*, for what it uses;
candidate 0 stands for none.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from koala.decoding.output import Output, log_softmax
from koala.decoding.tags import TAGS, decode_tags, find_tag_marginals
from koala.states import UNKNOWN, Tag

Scores = NDArray[np.float64]
Places = NDArray[np.int64]

SOMEWHERE = 0
"""The candidate that stands for `?` in a row."""
NOWHERE = -1
"""What stands in the place of a candidate where the ingredient is not there yet."""

USES = (Tag.C, Tag.M)
"""Tags that say that a step uses an ingredient."""

_C, _E, _M = (TAGS.index(tag) for tag in (Tag.C, Tag.E, Tag.M))


def decode_together(output: Output, indices: Sequence[int]) -> list[tuple[int, ...]]:
    """Decode all ingredients of a recipe: the candidate at each position, −1 before its first use.

    Which steps use an ingredient is decoded for each alone; the place of a step is the one that is
    the most probable for all it uses.
    """
    uses = [[tag in USES for tag in decode_tags(output, index)] for index in indices]
    # (ingredients, positions, candidates)
    places = np.stack([log_softmax(output.place_scores(index)) for index in indices])
    now = np.full(len(indices), NOWHERE)
    rows = [now]
    for step, is_used in enumerate(np.array(uses).T):
        place = places[is_used, step + 1].sum(0).argmax()
        now = lead_to(place, is_used, now)
        rows.append(now)
    return [tuple(int(place) for place in row) for row in np.stack(rows, axis=1)]


def lead_to(place: Places | np.int64, is_used: NDArray[np.bool_], now: Places) -> Places:
    """Give where ingredients are after a step that leads what it uses to a place, or to none."""
    stays = np.where(now == NOWHERE, SOMEWHERE, now)
    return np.where(is_used, np.where(place == SOMEWHERE, stays, place), now)


def find_locations(output: Output, index: int, names: Sequence[str]) -> tuple[Scores, Scores]:
    """Give how probable tags and places are that say what changes and where an ingredient is.

    Tags (steps, tags): what is used and stays has not moved. Places (steps + 1, candidates): where
    it is after each step if it is there at all; all that is somewhere counts as candidate 0.
    """
    used = np.exp(find_tag_marginals(output, index))
    step_places = np.exp(log_softmax(output.place_scores(index)))
    is_somewhere = np.array([name == UNKNOWN for name in names])
    where = np.zeros_like(step_places)
    where[0, SOMEWHERE] = 1.0
    tags = used.copy()
    for step, now in enumerate(used):
        none, place = step_places[step + 1, SOMEWHERE], step_places[step + 1]
        # Where a step that has a place leads to
        named = np.where(is_somewhere, 0.0, place)
        named[SOMEWHERE] = place[is_somewhere].sum() - none
        stays = now[_M] * (none + named @ where[step])
        tags[step, _M] -= stays
        tags[step, _E] += stays
        exists = now[_C] + now[_M] + now[_E]
        # What is new is somewhere where the step has no place; what is not, stays.
        total = (now[_C] + now[_M]) * named + now[_C] * none * where[0]
        total += (now[_M] * none + now[_E]) * where[step]
        where[step + 1] = total / exists if exists > 0 else where[0]
    return tags, where
