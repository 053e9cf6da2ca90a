"""How well the lives of several entities go together.

A network speaks of each entity alone, but in a text they depend on each other: what is destroyed
becomes what is created, there where it was; what moves, moves together. Lives that are drawn for
each entity alone break that: of the steps of ProPara that destroy something seven in ten create
something, too; of those that a network draws, fewer than four. So a drawn grid g counts by

    w(g) = exp(θ · f(g) / 2),

where f counts what its steps do (`describe`) and θ was found on train (`benchmarks/coherence.py`):
the grids that are true become as probable as they can, beside those that were drawn by networks
that had not learned from them. Half of it, for with all of it too few draws would stand for the
rest: on train and dev, by networks of folds, F1 gains as much and is surer.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from koala.decoding.recipes import NOWHERE, SOMEWHERE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEATURES = (
    "steps that destroy and create",
    "steps that destroy only",
    "steps that create only",
    "steps that move several",
    "steps that destroy several",
    "steps that create several",
    "steps that do nothing",
    "created where something is destroyed",
    "moved to where something else moves",
    "moved from where something else moves",
    "destroyed where something else is destroyed",
    "steps that destroy only before one that creates only",
    "created",
    "moved",
    "destroyed",
    "created at an unknown location",
    "moved to an unknown location",
    "begin at an unknown location",
)
"""What the steps of a grid are counted for."""

_SHARE = 0.5
"""Of θ that counts."""


def weigh(trajectories: Ints, weights: Mapping[str, float]) -> Floats:
    """Give how much each of some grids counts, as shares of all: (n, entities, steps + 1) → (n,).

    Lives are candidates, as `sample_lives` draws them.
    """
    scores = (
        _SHARE * describe(trajectories) @ np.array([weights.get(name, 0.0) for name in FEATURES])
    )
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def describe(trajectories: Ints) -> Floats:
    """Count what the steps of grids do: (n, entities, steps + 1) → (n, weights)."""
    before, after = trajectories[:, :, :-1], trajectories[:, :, 1:]
    # (n, entities, steps)
    created = (before == NOWHERE) & (after != NOWHERE)
    destroyed = (before != NOWHERE) & (after == NOWHERE)
    moved = (before != after) & ~created & ~destroyed
    # (n, steps)
    n_created, n_moved, n_destroyed = (each.sum(1) for each in (created, moved, destroyed))
    destroys_only = (n_destroyed > 0) & (n_created == 0)
    creates_only = (n_created > 0) & (n_destroyed == 0)
    features = [
        (n_destroyed > 0) & (n_created > 0),
        destroys_only,
        creates_only,
        n_moved > 1,
        n_destroyed > 1,
        n_created > 1,
        n_created + n_moved + n_destroyed == 0,
        _count_conversions(created, destroyed, before, after),
        _count_companions(moved, after),
        _count_companions(moved & (before != SOMEWHERE), before),
        _count_companions(destroyed & (before != SOMEWHERE), before),
        destroys_only[:, :-1] & creates_only[:, 1:],
        n_created,
        n_moved,
        n_destroyed,
        (created & (after == SOMEWHERE)).sum(1),
        (moved & (after == SOMEWHERE)).sum(1),
        (trajectories[:, :, 0] == SOMEWHERE),
    ]
    return np.stack([feature.sum(1) for feature in features], axis=1).astype(np.float64)


def _count_conversions(
    created: NDArray[np.bool_], destroyed: NDArray[np.bool_], before: Ints, after: Ints
) -> Ints:
    """Count what begins where something else ends, by step: (n, steps)."""
    total = np.zeros(created[:, 0].shape, dtype=np.int64)
    for entity in range(created.shape[1]):
        ends_here = destroyed & (before == after[:, entity : entity + 1])
        total += created[:, entity] & ends_here.any(1)
    return total


def _count_companions(done: NDArray[np.bool_], locations: Ints) -> Ints:
    """Count what is done to an entity where it is done to one before it, by step: (n, steps).

    As many as it is done to, less the places where it is, whatever the order of entities.
    """
    total = np.zeros(done[:, 0].shape, dtype=np.int64)
    for entity in range(1, done.shape[1]):
        is_there = done[:, :entity] & (locations[:, :entity] == locations[:, entity : entity + 1])
        total += done[:, entity] & is_there.any(1)
    return total
