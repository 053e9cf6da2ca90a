from collections import Counter

import numpy as np
import pytest

from koala.decoding.mbr.consistency import FEATURES, describe, weigh
from koala.decoding.mbr.search import sample_grids
from koala.decoding.sampling import build_rows, sample_trajectories
from koala.grid import Row
from koala.grid.states import Tag

from ..test_viterbi import build_output, load_calibration

NAMES = ("?", "root", "leaf")
ENTITIES = ("water", "sugar", "starch")
NONE = dict.fromkeys(FEATURES, 0.0)
SHIPPED = load_calibration().consistency


def sample(n, n_steps=4, n_entities=3):
    trajectories = [
        sample_trajectories(build_output(seed, n_steps), 0, n, np.random.default_rng(seed))
        for seed in range(n_entities)
    ]
    return np.stack(trajectories, axis=1)


def count(rows: list[Row]) -> dict[str, int]:
    """Count what the steps of a grid do, in a plain way."""
    counts = Counter(dict.fromkeys(FEATURES, 0))
    before = None
    for step in range(len(rows[0].steps)):
        done = {
            tag: [row for row in rows if row.tags[step] == tag] for tag in (Tag.C, Tag.M, Tag.D)
        }
        created, moved, destroyed = done.values()
        kinds = "".join(tag for tag in "CD" if done[tag])
        counts["steps that destroy and create"] += kinds == "CD"
        counts["steps that destroy only"] += kinds == "D"
        counts["steps that create only"] += kinds == "C"
        counts["steps that destroy only before one that creates only"] += (before, kinds) == (
            "D",
            "C",
        )
        counts["steps that move several"] += len(moved) > 1
        counts["steps that destroy several"] += len(destroyed) > 1
        counts["steps that create several"] += len(created) > 1
        counts["steps that do nothing"] += not (created or moved or destroyed)
        ended = {row.locations[step] for row in destroyed}
        counts["created where something is destroyed"] += sum(
            row.locations[step + 1] in ended for row in created
        )
        goals = [row.locations[step + 1] for row in moved]
        counts["moved to where something else moves"] += len(goals) - len(set(goals))
        for name, done in (
            ("moved from where something else moves", moved),
            ("destroyed where something else is destroyed", destroyed),
        ):
            left = [row.locations[step] for row in done if row.locations[step] != "?"]
            counts[name] += len(left) - len(set(left))
        counts["created"] += len(created)
        counts["moved"] += len(moved)
        counts["destroyed"] += len(destroyed)
        for name, done in (("created at", created), ("moved to", moved)):
            counts[f"{name} an unknown location"] += sum(
                row.locations[step + 1] == "?" for row in done
            )
        before = kinds
    counts["begin at an unknown location"] = sum(row.locations[0] == "?" for row in rows)
    return dict(counts)


@pytest.mark.parametrize(("n_steps", "n_entities"), [(4, 3), (1, 2), (6, 1)])
def test_features_equal_a_plain_count(n_steps, n_entities):
    trajectories = sample(200, n_steps, n_entities)
    found = describe(trajectories)
    for grid, features in zip(trajectories, found, strict=True):
        rows = [build_rows(trajectory[None], "x", NAMES)[0] for trajectory in grid]
        assert dict(zip(FEATURES, features, strict=True)) == count(rows)


def test_the_order_of_entities_does_not_matter():
    trajectories = sample(100)
    assert np.array_equal(describe(trajectories), describe(trajectories[:, ::-1]))


def test_weights_are_normalised_and_follow_theta():
    trajectories = sample(50)
    features = describe(trajectories)
    theta = NONE | {"created": 0.7, "steps that do nothing": -0.2}
    shares = weigh(trajectories, theta)
    assert shares.sum() == pytest.approx(1)
    index = {name: number for number, name in enumerate(FEATURES)}
    score = 0.35 * features[:, index["created"]] - 0.1 * features[:, index["steps that do nothing"]]
    ratio = shares / np.exp(score)
    assert ratio == pytest.approx(ratio[0])
    assert weigh(trajectories, NONE) == pytest.approx(1 / 50)


def test_a_destruction_with_a_creation_is_more_probable():
    # Water in the root (1) is destroyed, and sugar is created in the root, in the leaf, or nowhere.
    water = [1, -1]
    grids = np.array([[water, [-1, 1]], [water, [-1, 2]], [water, [-1, -1]]])
    there, elsewhere, nothing = weigh(grids, SHIPPED)
    assert there > elsewhere > nothing


def test_grids_are_resampled_by_their_weights():
    output = build_output(1, 2)
    theta = NONE | {"created": 0.8, "steps that do nothing": -0.5}
    entities = ("water", "sugar")
    independent, weighted = (
        Counter(sample_grids(output, entities, NAMES, 20_000, n_sampled=20_000, consistency=w))
        for w in (NONE, theta)
    )
    scores = {
        rows: sum(theta[name] * n for name, n in count(list(rows)).items()) for rows in independent
    }
    wanted = {rows: n * np.exp(scores[rows] / 2) for rows, n in independent.items()}
    total = sum(wanted.values())
    for rows, weight in wanted.items():
        assert weighted[rows] / 20_000 == pytest.approx(weight / total, abs=2e-3)


def test_samples_depend_on_the_seed_alone():
    output = build_output(1, 3)
    first, again = (
        sample_grids(output, ("a", "b"), NAMES, 30, consistency=SHIPPED) for _ in range(2)
    )
    assert first == again
    assert sample_grids(output, ("a", "b"), NAMES, 30, consistency=SHIPPED, seed=1) != first
