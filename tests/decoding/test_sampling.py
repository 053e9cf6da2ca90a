import numpy as np
import pytest

from koala.decoding.output import log_softmax
from koala.decoding.sampling import build_rows, sample_lives, sample_places, sample_tags
from koala.decoding.tags import TAGS
from koala.states import is_legal

from .test_decoding import build_output, enumerate_scores

N = 20_000


@pytest.mark.parametrize("seed", range(3))
def test_sequences_come_as_often_as_they_are_probable(seed):
    output = build_output(seed, 3)
    scores = enumerate_scores(output, 3, only_legal=True)
    total = sum(np.exp(score) for score in scores.values())
    drawn = sample_tags(output, 1, N, np.random.default_rng(seed))
    came = [tuple(TAGS[tag] for tag in row) for row in drawn]
    assert set(came) <= set(scores)
    for tags, score in scores.items():
        # Five standard deviations of a share of N
        probability = np.exp(score) / total
        margin = 5 * np.sqrt(probability * (1 - probability) / N) + 1e-4
        assert came.count(tags) / N == pytest.approx(probability, abs=margin)


def test_places_come_as_often_as_they_are_probable():
    output = build_output(7, 2)
    drawn = sample_places(output, 0, N, np.random.default_rng(0))
    assert drawn.shape == (N, 3)
    for position, scores in enumerate(log_softmax(output.place_scores(0))):
        shares = np.bincount(drawn[:, position], minlength=3) / N
        assert shares == pytest.approx(np.exp(scores), abs=0.02)


def test_rows_are_lives_that_can_be():
    output = build_output(1, 4)
    lives = sample_lives(output, 0, 200, np.random.default_rng(0))
    rows = build_rows(lives, "water", ("?", "root", "leaf"))
    assert all(row.problem is None and is_legal(row.tags) for row in rows)
    assert len({row.locations for row in rows}) > 20
