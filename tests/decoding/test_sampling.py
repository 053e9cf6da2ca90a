import numpy as np
import pytest

from koala.decoding.sampling import build_rows, sample_locations, sample_tags, sample_trajectories
from koala.decoding.viterbi import TAGS
from koala.grid.states import is_legal
from koala.network.output import log_softmax

from .test_viterbi import build_output, enumerate_scores

N = 20_000


@pytest.mark.parametrize("seed", range(3))
def test_tag_sequences_are_sampled_by_their_probability(seed):
    output = build_output(seed, 3)
    scores = enumerate_scores(output, 3, only_legal=True)
    total = sum(np.exp(score) for score in scores.values())
    sampled = sample_tags(output, 1, N, np.random.default_rng(seed))
    found = [tuple(TAGS[tag] for tag in row) for row in sampled]
    assert set(found) <= set(scores)
    for tags, score in scores.items():
        # Five standard deviations of a share of N
        probability = np.exp(score) / total
        margin = 5 * np.sqrt(probability * (1 - probability) / N) + 1e-4
        assert found.count(tags) / N == pytest.approx(probability, abs=margin)


def test_locations_are_sampled_by_their_probability():
    output = build_output(7, 2)
    sampled = sample_locations(output, 0, N, np.random.default_rng(0))
    assert sampled.shape == (N, 3)
    for position, scores in enumerate(log_softmax(output.location_scores(0))):
        shares = np.bincount(sampled[:, position], minlength=3) / N
        assert shares == pytest.approx(np.exp(scores), abs=0.02)


def test_sampled_trajectories_are_consistent():
    output = build_output(1, 4)
    trajectories = sample_trajectories(output, 0, 200, np.random.default_rng(0))
    rows = build_rows(trajectories, "water", ("?", "root", "leaf"))
    assert all(row.problem is None and is_legal(row.tags) for row in rows)
    assert len({row.locations for row in rows}) > 20
