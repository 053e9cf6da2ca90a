import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from koala.decoding.mbr import search
from koala.decoding.mbr.search import sample_grids
from koala.decoding.viterbi import decode_row
from koala.evaluation.expectation import Expectation
from koala.grid import Grid
from koala.grid.states import is_legal
from koala.network.output import Output
from koala.tasks.propara import build_utility

from ..test_viterbi import build_output, load_calibration

NAMES = ("?", "root", "leaf")
ENTITIES = ("water", "sugar")
CONSISTENCY = load_calibration().consistency
choose_trajectories = partial(
    search.choose_trajectories, utility=build_utility, consistency=CONSISTENCY
)


def decode(output: Output):
    return [decode_row(output, i, name, NAMES) for i, name in enumerate(ENTITIES)]


def expect(output: Output, n=3000):
    """Estimate expected scores from samples that the search has not used."""
    sampled = sample_grids(
        output, ENTITIES, NAMES, n, consistency=CONSISTENCY, n_sampled=10 * n, seed=1
    )
    steps = ("",) * len(sampled[0][0].steps)
    expectation = Expectation([Grid("", steps, rows) for rows in sampled])
    return lambda rows: expectation.score(Grid("", steps, tuple(rows)))


@pytest.mark.parametrize("seed", range(8))
def test_mbr_has_a_better_expected_score_than_viterbi(seed):
    output = build_output(seed, 4)
    likeliest = decode(output)
    chosen = choose_trajectories(output, likeliest, NAMES, n_samples=600)
    assert all(row.problem is None and is_legal(row.tags) for row in chosen)
    score = expect(output)
    before, after = score(likeliest), score(chosen)
    gain = 0.4 * (after.precision - before.precision) + 0.6 * (after.recall - before.recall)
    # A hundredth for the noise of 600 samples
    assert gain > -0.01


def test_mbr_gains_in_total():
    gained = 0.0
    for seed in range(8):
        output = build_output(seed, 4)
        score, likeliest = expect(output), decode(output)
        chosen = choose_trajectories(output, likeliest, NAMES)
        gained += sum(score(chosen).to_dict().values()) - sum(score(likeliest).to_dict().values())
    assert gained > 0.1


def test_mbr_equals_viterbi_for_a_sure_network():
    output = build_output(3, 4).with_temperatures(0.01, 0.01)
    likeliest = decode(output)
    assert choose_trajectories(output, likeliest, NAMES) == likeliest


def test_the_same_output_gives_the_same_rows():
    output = build_output(5, 4)
    rows = choose_trajectories(output, decode(output), NAMES)
    assert choose_trajectories(output, decode(output), NAMES) == rows


def test_a_large_grid_takes_seconds():
    rng = np.random.default_rng(0)
    n, n_steps, n_locations = 16, 25, 12
    output = replace(
        build_output(0, 2),
        tags=rng.normal(size=(n, n_steps, 6)).astype(np.float32),
        locations=rng.normal(size=(n, n_steps + 1, n_locations)).astype(np.float32),
        n_steps=np.full(n, n_steps),
        n_candidates=np.full(n, n_locations),
    )
    names = tuple(f"location {number}" for number in range(n_locations))
    likeliest = [decode_row(output, i, f"entity {i}", names) for i in range(n)]
    start = time.process_time()
    chosen = choose_trajectories(output, likeliest, names)
    assert len(chosen) == n
    # It takes a few seconds; it would take minutes if time grew with the square of the grid.
    assert time.process_time() - start < 30


def test_padding_changes_nothing():
    output = build_output(6, 4)
    more = [(0, 0), (0, 3), (0, 2)]
    padded = replace(
        output,
        tags=np.pad(output.tags, [(0, 0), (0, 3), (0, 0)], constant_values=9.0),
        locations=np.pad(output.locations, more, constant_values=-1e30),
    )
    rows = choose_trajectories(output, decode(output), NAMES)
    assert choose_trajectories(padded, decode(padded), NAMES) == rows


def test_one_step_and_only_the_unknown_location():
    output = build_output(2, 1, n_candidates=1)
    likeliest = [decode_row(output, i, name, ("?",)) for i, name in enumerate(ENTITIES)]
    (first, second) = choose_trajectories(output, likeliest, ("?",))
    assert {*first.locations, *second.locations} <= {"-", "?"}


def test_the_order_of_entities_does_not_matter():
    for seed in range(5):
        output = build_output(seed, 4)
        rows = choose_trajectories(output, decode(output), NAMES)
        turned = replace(output, tags=output.tags[::-1], locations=output.locations[::-1])
        assert choose_trajectories(turned, decode(output)[::-1], NAMES) == rows[::-1]
