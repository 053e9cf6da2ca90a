"""MBR decoding of recipes: the best expected F1 of location changes.

F1 = 2 · right / (predicted + gold) is highest if exactly those changes are predicted whose
probability exceeds half of the F1 reached. Probabilities are counted in sampled recipes; dynamic
programming finds the best changes that fit into one row. As in `koala.decoding.recipes`, a step
moves all ingredients it uses to one location, or leaves new ones at `?`.
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
"""Half of an F1 of 0.7, which is about the F1 on dev."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def choose_changes(output: Output, entities: Sequence[str], names: Names) -> list[Row]:
    """Choose a row for every ingredient of a recipe; `names` are its candidates, `?` first."""
    sampled = sample_recipes(output, _N_SAMPLES, np.random.default_rng(0))
    # Candidates with the same name are one location.
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
    """Estimate the probability of each change: (ingredients, steps, locations).

    `sampled` holds locations (n, ingredients, steps + 1), NOWHERE before the first use.
    """
    before, after = sampled[..., :-1], sampled[..., 1:]
    is_change = (after != before) & (after != NOWHERE)
    return np.stack([((after == p) & is_change).mean(0) for p in range(n_locations)], axis=-1)


def _find_step_locations(gains: Floats) -> list[tuple[int, ...]]:
    """Give the locations allowed in each step: the one with the largest total gain, and `?` for new
    ingredients if the step has no location.
    """
    # (steps, locations)
    total = gains.clip(min=0).sum(0)
    total[:, SOMEWHERE] = -1.0
    return [tuple({SOMEWHERE, int(best)}) for best in total.argmax(1)]


def find_best_row(gains: Floats, allowed: Sequence[tuple[int, ...]]) -> list[int]:
    """Find the row whose changes gain most: a location or NOWHERE at each position, (steps + 1).

    Gains are (steps, locations); in each step the ingredient moves to an allowed location or stays.
    """
    n_locations = gains.shape[1]
    # The last entry is for NOWHERE, which is index -1.
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
