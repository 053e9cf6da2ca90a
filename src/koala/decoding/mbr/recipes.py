"""By the location changes of Recipes.

F1 = 2 · right / (predicted + gold) is highest where every change is predicted that is more probable
than half of the F1 that is reached, and no other. How probable one is, is counted in recipes that
are drawn; which changes can stand in one row is found by dynamic programming. A step still leads
all it uses to one place (`koala.decoding.recipes`), or what is new to none, `?`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Names
from koala.decoding.recipes import NOWHERE, SOMEWHERE
from koala.decoding.sampling import sample_recipes
from koala.grid import Row
from koala.grid.states import ABSENT
from koala.network.output import Output

_N_SAMPLES = 200
_LEAST = 0.35
"""Half of an F1 of 0.7, about what is reached on dev."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def choose_changes(output: Output, entities: Sequence[str], names: Names) -> list[Row]:
    """Choose a row for every ingredient of a recipe; `names` are the candidates', `?` first."""
    sampled = sample_recipes(output, _N_SAMPLES, np.random.default_rng(0))
    # Candidates of one name are one place.
    locations = list(dict.fromkeys(names))
    number = np.array([*(locations.index(name) for name in names), NOWHERE])
    changes = find_changes(number[sampled], len(locations))
    gains = changes - _LEAST
    allowed = _find_step_locations(gains)
    return [
        Row.from_locations(
            name,
            [
                locations[location] if location != NOWHERE else ABSENT
                for location in find_best_row(own, allowed)
            ],
        )
        for name, own in zip(entities, gains, strict=True)
    ]


def find_changes(sampled: Ints, n_locations: int) -> Floats:
    """Count how often an ingredient comes to a place in a step: (ingredients, steps, places).

    Drawn are (n, ingredients, steps + 1) places, NOWHERE before the first use.
    """
    before, after = sampled[..., :-1], sampled[..., 1:]
    comes = (after != before) & (after != NOWHERE)
    return np.stack([((after == p) & comes).mean(0) for p in range(n_locations)], axis=-1)


def _find_step_locations(gains: Floats) -> list[tuple[int, ...]]:
    """Give the places each step may lead to: the one that gains most for all; and `?`, where what
    is new stays if the step has no place.
    """
    # (steps, places)
    total = gains.clip(min=0).sum(0)
    total[:, SOMEWHERE] = -1.0
    return [tuple({SOMEWHERE, int(best)}) for best in total.argmax(1)]


def find_best_row(gains: Floats, allowed: Sequence[tuple[int, ...]]) -> list[int]:
    """Find the row whose changes gain most: a place or NOWHERE at each position, (steps + 1).

    Gains are (steps, places); in a step one may come to an allowed place, or stay.
    """
    n_locations = gains.shape[1]
    # What is nowhere stands last, which is where index -1 leads.
    best = np.full(n_locations + 1, -np.inf)
    best[NOWHERE] = 0.0
    origins = []
    for own, options in zip(gains, allowed, strict=True):
        new, origin = best.copy(), np.arange(n_locations + 1)
        for location in options:
            others = best.copy()
            others[location] = -np.inf
            source = int(others.argmax())
            if others[source] + own[location] > new[location]:
                new[location], origin[location] = others[source] + own[location], source
        best = new
        origins.append(origin)
    row = [int(best.argmax())]
    for origin in reversed(origins):
        row.append(int(origin[row[-1]]))
    return [location if location < n_locations else NOWHERE for location in reversed(row)]
