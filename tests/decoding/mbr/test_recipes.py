import itertools

import numpy as np
import pytest

from koala.decoding.mbr.recipes import choose_changes, find_best_row, find_changes
from koala.decoding.recipes import NOWHERE, decode_recipe
from koala.decoding.sampling import sample_recipes
from koala.decoding.viterbi import TAGS
from koala.grid.states import Tag
from koala.network.output import Output

NAMES = ("?", "bowl", "pan", "?")
ENTITIES = ("flour", "milk", "salt")


def build_recipe(seed: int, n_steps: int = 4) -> Output:
    """Build random scores of three ingredients that do not exist before step 1."""
    rng = np.random.default_rng(seed)
    never = [TAGS.index(tag) for tag in (Tag.D, Tag.O_D)]
    starts = np.array([0 if tag in (Tag.O_C, Tag.C) else -1e4 for tag in TAGS], dtype=np.float32)
    tags = rng.normal(size=(3, n_steps, len(TAGS))).astype(np.float32)
    tags[..., never] = -1e4
    return Output(
        tags=tags,
        locations=rng.normal(size=(3, n_steps + 1, len(NAMES))).astype(np.float32),
        transitions=rng.normal(size=(6, 6)).astype(np.float32),
        starts=starts,
        ends=np.zeros(6, dtype=np.float32),
        n_steps=np.full(3, n_steps),
        n_candidates=np.full(3, len(NAMES)),
        may_be_absent=True,
    )


def gain_of(row, gains):
    steps = enumerate(itertools.pairwise(row))
    return sum(gains[step, b] for step, (a, b) in steps if b not in (a, NOWHERE))


def enumerate_rows(n_steps, allowed):
    """Give every possible row: NOWHERE first, then locations, each allowed in its step."""
    for tail in itertools.product((NOWHERE, 0, 1, 2), repeat=n_steps):
        row = (NOWHERE, *tail)
        pairs = enumerate(itertools.pairwise(row))
        if all(a == b or b in allowed[step] for step, (a, b) in pairs):
            yield row


@pytest.mark.parametrize("seed", range(20))
def test_the_row_with_the_largest_gain_is_found(seed):
    rng = np.random.default_rng(seed)
    gains = rng.uniform(-0.4, 0.6, size=(4, 3))
    allowed = [(0, 1), (0, 2), (0,), (0, 1)]
    best = max(gain_of(row, gains) for row in enumerate_rows(4, allowed))
    found = find_best_row(gains, allowed)
    assert tuple(found) in set(enumerate_rows(4, allowed))
    assert gain_of(found, gains) == pytest.approx(best)


def test_probabilities_of_changes_are_counted():
    sampled = np.array([[[-1, 0, 1, 1]], [[-1, 1, 1, 0]]])
    changes = find_changes(sampled, 2)
    assert changes.shape == (1, 3, 2)
    assert changes[0].tolist() == [[0.5, 0.5], [0.0, 0.5], [0.5, 0.0]]


@pytest.mark.parametrize("seed", range(5))
def test_a_step_moves_ingredients_to_one_location(seed):
    output = build_recipe(seed)
    rows = [row.locations for row in choose_changes(output, ENTITIES, NAMES)]
    assert all(row[0] == "-" for row in rows)
    for step in range(1, len(rows[0])):
        new = {row[step] for row in rows if row[step] not in (row[step - 1], "-", "?")}
        assert len(new) <= 1


def test_mbr_equals_viterbi_for_a_sure_network():
    output = build_recipe(2).with_temperatures(0.01, 0.01)
    names = ("?", "bowl", "pan", "oven")
    best = [
        tuple("-" if location == NOWHERE else names[location] for location in row)
        for row in decode_recipe(output)
    ]
    chosen = choose_changes(output, ENTITIES, names)
    assert [row.locations for row in chosen] == best


def test_the_most_frequent_sample_is_the_viterbi_grid():
    output = build_recipe(4).with_temperatures(0.2, 0.2)
    sampled = sample_recipes(output, 2000, np.random.default_rng(0))
    kinds, counts = np.unique(sampled, axis=0, return_counts=True)
    assert kinds[counts.argmax()].tolist() == [list(row) for row in decode_recipe(output)]
