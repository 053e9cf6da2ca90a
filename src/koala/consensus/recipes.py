"""By the location changes of Recipes.

F1 = 2 · right / (predicted + gold) is highest where every change is predicted that is more probable
than half of the F1 that is reached, and no other. How probable one is, is counted in recipes that
are drawn; which changes can stand in one row is found by dynamic programming. A step still leads
all it uses to one place (`koala.decoding.together`), or what is new to none, `?`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Output
from koala.decoding.sampling import sample_recipes
from koala.decoding.together import NOWHERE, SOMEWHERE
from koala.grid import Row
from koala.states import ABSENT

_N_SAMPLES = 200
_LEAST = 0.35
"""Half of an F1 of 0.7, about what is reached on dev."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def choose_changes(
    output: Output, indices: Sequence[int], entities: Sequence[str], names: tuple[str, ...]
) -> list[Row]:
    """Choose a row for every ingredient of a recipe; `names` are the candidates', `?` first."""
    drawn = sample_recipes(output, indices, _N_SAMPLES, np.random.default_rng(0))
    # Candidates of one name are one place.
    places = list(dict.fromkeys(names))
    number = np.array([*(places.index(name) for name in names), NOWHERE])
    changes = find_changes(number[drawn], len(places))
    gains = changes - _LEAST
    allowed = _find_step_places(gains)
    return [
        Row.from_locations(
            name,
            [
                places[place] if place != NOWHERE else ABSENT
                for place in find_best_row(own, allowed)
            ],
        )
        for name, own in zip(entities, gains, strict=True)
    ]


def find_changes(drawn: Ints, n_places: int) -> Floats:
    """Count how often an ingredient comes to a place in a step: (ingredients, steps, places).

    Drawn are (n, ingredients, steps + 1) places, NOWHERE before the first use.
    """
    before, after = drawn[..., :-1], drawn[..., 1:]
    comes = (after != before) & (after != NOWHERE)
    return np.stack([((after == p) & comes).mean(0) for p in range(n_places)], axis=-1)


def _find_step_places(gains: Floats) -> list[tuple[int, ...]]:
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
    n_places = gains.shape[1]
    # What is nowhere stands last, which is where index -1 leads.
    best = np.full(n_places + 1, -np.inf)
    best[NOWHERE] = 0.0
    origins = []
    for own, options in zip(gains, allowed, strict=True):
        new, origin = best.copy(), np.arange(n_places + 1)
        for place in options:
            others = best.copy()
            others[place] = -np.inf
            source = int(others.argmax())
            if others[source] + own[place] > new[place]:
                new[place], origin[place] = others[source] + own[place], source
        best = new
        origins.append(origin)
    row = [int(best.argmax())]
    for origin in reversed(origins):
        row.append(int(origin[row[-1]]))
    return [place if place < n_places else NOWHERE for place in reversed(row)]
