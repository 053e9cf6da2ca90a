"""Samples from the posterior: trajectories of an entity, or of all ingredients of a recipe."""

import numpy as np
from numpy.typing import NDArray

from koala.decoding.recipes import NOWHERE, PARTICIPATING, apply_step
from koala.decoding.viterbi import IMPOSSIBLE, TAGS, find_forward, find_potentials
from koala.grid import Row
from koala.grid.states import ABSENT, Tag
from koala.network.output import Output, log_softmax

Ints = NDArray[np.int64]

_PARTICIPATES = np.array([tag in PARTICIPATING for tag in TAGS])
_EXISTS_BEFORE = np.array([tag in (Tag.E, Tag.M, Tag.D) for tag in TAGS])
_ARRIVES = np.array([tag in (Tag.C, Tag.M) for tag in TAGS])
_STAYS = np.array([tag == Tag.E for tag in TAGS])
_MOVE = TAGS.index(Tag.M)


def build_rows(trajectories: Ints, name: str, names: tuple[str, ...]) -> list[Row]:
    """Build rows of an entity from sampled candidates (n, steps + 1)."""
    known = {
        trajectory: Row.from_locations(
            name, [ABSENT if n == NOWHERE else names[n] for n in trajectory]
        )
        for trajectory in set(map(tuple, trajectories.tolist()))
    }
    return [known[trajectory] for trajectory in map(tuple, trajectories.tolist())]


def sample_trajectories(output: Output, index: int, n: int, rng: np.random.Generator) -> Ints:
    """Sample trajectories of one entity: candidates (n, steps + 1), NOWHERE if it does not exist.

    Tags are sampled as whole legal sequences, locations wherever the entity begins or moves; a move
    changes the location.
    """
    locations = sample_locations(output, index, n, rng)
    tags = sample_tags(output, index, n, rng)
    scores = log_softmax(output.location_scores(index))
    trajectories = np.full(locations.shape, NOWHERE)
    trajectories[:, 0] = np.where(_EXISTS_BEFORE[tags[:, 0]], locations[:, 0], NOWHERE)
    for step in range(tags.shape[1]):
        tag = tags[:, step]
        is_same = (tag == _MOVE) & (locations[:, step + 1] == trajectories[:, step])
        if is_same.any() and scores.shape[1] > 1:
            others = np.tile(scores[step + 1], (int(is_same.sum()), 1))
            others[np.arange(len(others)), trajectories[is_same, step]] = IMPOSSIBLE
            locations[is_same, step + 1] = sample_columns(others, rng)
        stays = np.where(_STAYS[tag], trajectories[:, step], NOWHERE)
        trajectories[:, step + 1] = np.where(_ARRIVES[tag], locations[:, step + 1], stays)
    return trajectories


def sample_tags(output: Output, index: int, n: int, rng: np.random.Generator) -> Ints:
    """Sample legal tag sequences (n, steps): forward filtering, backward sampling."""
    starts, emissions, transitions, ends = find_potentials(output, index, is_legal=True)
    n_steps = len(emissions)
    forward = find_forward(starts, emissions, transitions)
    sampled = np.empty((n, n_steps), dtype=np.int64)
    sampled[:, -1] = sample_columns(np.tile(forward[-1] + ends, (n, 1)), rng)
    for step in reversed(range(n_steps - 1)):
        # (n, current_tag)
        scores = forward[step] + transitions[:, sampled[:, step + 1]].T
        sampled[:, step] = sample_columns(scores, rng)
    return sampled


def sample_locations(output: Output, index: int, n: int, rng: np.random.Generator) -> Ints:
    """Sample a candidate for every position: (n, steps + 1)."""
    scores = log_softmax(output.location_scores(index))
    return np.stack([sample_columns(np.tile(row, (n, 1)), rng) for row in scores], axis=1)


def sample_columns(scores: NDArray[np.float64], rng: np.random.Generator) -> Ints:
    """Sample a column of each row by unnormalised log probabilities (Gumbel-max): (rows,).

    Shape: scores (rows, columns).
    """
    return np.asarray((scores + rng.gumbel(size=scores.shape)).argmax(1), dtype=np.int64)


def sample_recipes(output: Output, n: int, rng: np.random.Generator) -> Ints:
    """Sample trajectories of all ingredients of a recipe: candidates (n, ingredients, steps + 1).

    As in `decode_recipe`, participation is sampled for each ingredient by itself, the location of a
    step for all ingredients it uses.
    """
    # (n, ingredients, steps)
    participation = np.stack(
        [_PARTICIPATES[sample_tags(output, index, n, rng)] for index in range(len(output))], axis=1
    )
    # (ingredients, positions, candidates)
    locations = np.stack(
        [log_softmax(output.location_scores(index)) for index in range(len(output))]
    )
    now = np.full(participation.shape[:2], NOWHERE)
    rows = [now]
    for step in range(participation.shape[2]):
        used = participation[:, :, step]
        location = sample_columns(used @ locations[:, step + 1], rng)
        now = apply_step(location[:, None], used, now)
        rows.append(now)
    return np.stack(rows, axis=-1)
