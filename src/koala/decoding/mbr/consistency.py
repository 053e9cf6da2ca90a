"""Cross-entity consistency: how well the trajectories of several entities fit together.

A network predicts each entity by itself, but entities depend on each other: a destroyed entity
turns into a created one, at the same location; entities move together. Independent samples break
these dependencies: seven of ten ProPara steps that destroy something also create something, but
fewer than four of ten sampled ones do. So a sampled grid g gets the weight

    w(g) = exp(θ · f(g) / 2),

where f counts what the steps of the grid do (`describe`). `koala calibrate` fits θ: it maximises
the likelihood of gold grids among grids sampled by networks that were not trained on them. θ is
halved, because with all of it few samples would carry most of the weight; by cross-validation on
train and dev, F1 gains as much, with less variance.
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
"""What is counted in the steps of a grid. The names are keys in the cards of models."""

_SCALE = 0.5
"""Factor of θ."""


def weigh(trajectories: Ints, weights: Mapping[str, float]) -> Floats:
    """Give the normalised weights of sampled grids: (n, entities, steps + 1) → (n,).

    Trajectories hold candidates, as `sample_trajectories` gives them.
    """
    theta = np.array([weights.get(name, 0.0) for name in FEATURES])
    scores = _SCALE * describe(trajectories) @ theta
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def describe(trajectories: Ints) -> Floats:
    """Count what the steps of grids do: (n, entities, steps + 1) → (n, features)."""
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
    """Count the entities that are created where another one is destroyed: (n, steps)."""
    total = np.zeros(created[:, 0].shape, dtype=np.int64)
    for entity in range(created.shape[1]):
        ends_here = destroyed & (before == after[:, entity : entity + 1])
        total += created[:, entity] & ends_here.any(1)
    return total


def _count_companions(affected: NDArray[np.bool_], locations: Ints) -> Ints:
    """Count affected entities at the location of another one earlier in the list: (n, steps).

    This is the number of affected entities minus the number of their distinct locations, so the
    order of entities does not matter.
    """
    total = np.zeros(affected[:, 0].shape, dtype=np.int64)
    for entity in range(1, affected.shape[1]):
        is_shared = affected[:, :entity] & (
            locations[:, :entity] == locations[:, entity : entity + 1]
        )
        total += affected[:, entity] & is_shared.any(1)
    return total
