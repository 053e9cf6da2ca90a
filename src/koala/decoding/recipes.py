"""Joint decoding of all ingredients of a recipe.

A step has at most one location, and every ingredient it uses is there afterwards. If a step has no
location, ingredients it uses for the first time are at `?`, and all others stay where they are.
docs/explanation/recipes.md derives these rules from the annotations. Location scores of recipes are
therefore scores of the location of a *step*, given that it uses the ingredient; candidate 0 means
that the step has none.
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
"""The candidate for `?`, an unknown location."""
NOWHERE = -1
"""Used instead of a candidate if the entity does not exist at a position."""

PARTICIPATING = (Tag.C, Tag.M)
"""Tags of the steps that use an ingredient."""

_C, _E, _M = (TAGS.index(tag) for tag in (Tag.C, Tag.E, Tag.M))


def decode_recipe(output: Output) -> list[tuple[int, ...]]:
    """Decode all ingredients of a recipe jointly.

    Gives each ingredient's candidate at each position, NOWHERE before its first use. Participation
    is decoded for each ingredient by itself (Viterbi); the location of a step is the most probable
    one given all ingredients it uses.
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
        now = apply_step(location, is_used, now)
        rows.append(now)
    return [tuple(int(location) for location in row) for row in np.stack(rows, axis=1)]


def apply_step(
    location: Locations | np.int64, is_used: NDArray[np.bool_], now: Locations
) -> Locations:
    """Give the candidates of ingredients after a step, given those before it (`now`).

    `location` is the location of the step, SOMEWHERE if it has none.
    """
    stays = np.where(now == NOWHERE, SOMEWHERE, now)
    return np.where(is_used, np.where(location == SOMEWHERE, stays, location), now)


def find_participation_marginals(output: Output, index: int, names: Names) -> Marginals:
    """Turn participation and step locations into marginals of changes and of the ingredient's
    location.

    An ingredient that is used but stays where it was is tagged E. All candidates named `?` are
    added up in candidate 0.
    """
    used = np.exp(find_tag_marginals(output, index))
    step_locations = np.exp(log_softmax(output.location_scores(index)))
    is_somewhere = np.array([name == UNKNOWN for name in names])
    where = np.zeros_like(step_locations)
    where[0, SOMEWHERE] = 1.0
    tags = used.copy()
    for step, now in enumerate(used):
        none, location = step_locations[step + 1, SOMEWHERE], step_locations[step + 1]
        # Locations of the step if it has one
        named = np.where(is_somewhere, 0.0, location)
        named[SOMEWHERE] = location[is_somewhere].sum() - none
        stays = now[_M] * (none + named @ where[step])
        tags[step, _M] -= stays
        tags[step, _E] += stays
        exists = now[_C] + now[_M] + now[_E]
        # If the step has no location, new ingredients are at `?`, the others stay.
        total = (now[_C] + now[_M]) * named + now[_C] * none * where[0]
        total += (now[_M] * none + now[_E]) * where[step]
        where[step + 1] = total / exists if exists > 0 else where[0]
    return Marginals(tags, where)
