"""All ingredients of a recipe together.

A step has one place at most, and what it uses is there afterwards. Where it has none, what it uses
for the first time is somewhere (`?`), and all else stays. docs/recipes.md says how this was found
in the annotations. The scores of a place are here those of the place of a *step*, for what it uses;
candidate 0 stands for none.
"""

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Names
from koala.decoding.marginals import Marginals
from koala.decoding.viterbi import TAGS, decode_tags, find_tag_marginals
from koala.grid.states import UNKNOWN, Tag
from koala.network.output import Output, log_softmax

Scores = NDArray[np.float64]
Locations = NDArray[np.int64]

SOMEWHERE = 0
"""The candidate that stands for `?` in a row."""
NOWHERE = -1
"""What stands in the place of a candidate where the ingredient is not there yet."""

PARTICIPATING = (Tag.C, Tag.M)
"""Tags that say that a step uses an ingredient."""

_C, _E, _M = (TAGS.index(tag) for tag in (Tag.C, Tag.E, Tag.M))


def decode_recipe(output: Output) -> list[tuple[int, ...]]:
    """Decode all ingredients of a recipe: the candidate at each position, −1 before its first use.

    Which steps use an ingredient is decoded for each alone; the place of a step is the one that is
    the most probable for all it uses.
    """
    participation = [
        [tag in PARTICIPATING for tag in decode_tags(output, index)] for index in range(len(output))
    ]
    # (ingredients, positions, candidates)
    locations = np.stack(
        [log_softmax(output.location_scores(index)) for index in range(len(output))]
    )
    now = np.full(len(output), NOWHERE)
    rows = [now]
    for step, is_used in enumerate(np.array(participation).T):
        location = locations[is_used, step + 1].sum(0).argmax()
        now = lead_to(location, is_used, now)
        rows.append(now)
    return [tuple(int(location) for location in row) for row in np.stack(rows, axis=1)]


def lead_to(
    location: Locations | np.int64, is_used: NDArray[np.bool_], now: Locations
) -> Locations:
    """Give where ingredients are after a step that leads what it uses to a place, or to none."""
    stays = np.where(now == NOWHERE, SOMEWHERE, now)
    return np.where(is_used, np.where(location == SOMEWHERE, stays, location), now)


def find_participation_marginals(output: Output, index: int, names: Names) -> Marginals:
    """Give how probable tags and places are that say what changes and where an ingredient is.

    Tags (steps, tags): what is used and stays has not moved. Places (steps + 1, candidates): where
    it is after each step if it is there at all; all that is somewhere counts as candidate 0.
    """
    used = np.exp(find_tag_marginals(output, index))
    step_locations = np.exp(log_softmax(output.location_scores(index)))
    is_somewhere = np.array([name == UNKNOWN for name in names])
    where = np.zeros_like(step_locations)
    where[0, SOMEWHERE] = 1.0
    tags = used.copy()
    for step, now in enumerate(used):
        none, location = step_locations[step + 1, SOMEWHERE], step_locations[step + 1]
        # Where a step that has a place leads to
        named = np.where(is_somewhere, 0.0, location)
        named[SOMEWHERE] = location[is_somewhere].sum() - none
        stays = now[_M] * (none + named @ where[step])
        tags[step, _M] -= stays
        tags[step, _E] += stays
        exists = now[_C] + now[_M] + now[_E]
        # What is new is somewhere where the step has no place; what is not, stays.
        total = (now[_C] + now[_M]) * named + now[_C] * none * where[0]
        total += (now[_M] * none + now[_E]) * where[step]
        where[step + 1] = total / exists if exists > 0 else where[0]
    return Marginals(tags, where)
