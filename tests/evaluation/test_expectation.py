"""Compare with the mean of the official scores."""

import random

import pytest

from koala.corpora.leaderboard import read_predictions
from koala.evaluation.document import score_process
from koala.evaluation.expectation import Expectation
from koala.evaluation.questions import summarize
from koala.grid import Grid, Row


def mean_of_scores(grid, truths):
    scores = [score_process(summarize(grid), summarize(truth)) for truth in truths]
    each = [prf for by_question in scores for prf in by_question.values()]
    n = len(each)
    return sum(prf.precision for prf in each) / n, sum(prf.recall for prf in each) / n


def sample_grid(rng):
    """Sample locations of three entities, two with the same name, in four steps."""
    rows = []
    for name in ("water", "ice; snow", "water"):
        locations = [rng.choice(["-", "?", "the lake", "lakes", "cloud"]) for _ in range(5)]
        rows.append(Row.from_locations(name, locations))
    return Grid("1", ("",) * 4, tuple(rows))


@pytest.mark.parametrize("seed", range(20))
def test_expected_scores_are_means_of_scores(seed):
    rng = random.Random(seed)
    truths = [sample_grid(rng) for _ in range(12)]
    truths += truths[:3]
    expectation = Expectation(truths)
    for grid in [*truths[:3], *(sample_grid(rng) for _ in range(5))]:
        expected = expectation.score(grid)
        found = (expected.precision, expected.recall)
        assert found == pytest.approx(mean_of_scores(grid, truths), abs=1e-12)


def test_a_grid_without_changes():
    still = Grid("1", ("",) * 2, (Row.from_locations("water", ["lake"] * 3),))
    moving = Grid("1", ("",) * 2, (Row.from_locations("water", ["lake", "sea", "sea"]),))
    expected = Expectation([still, moving]).score(still)
    assert (expected.precision, expected.recall) == (1.0, 0.875)
    expected = Expectation([still]).score(moving)
    assert (expected.precision, expected.recall) == (0.75, 1.0)


def test_real_predictions_as_truths(propara):
    cases = [propara / "evaluator-cases" / name / "predictions.tsv" for name in ("gold", "meet")]
    gold, meet = (read_predictions(path) for path in cases)
    for id, truth in gold.items():
        expected = Expectation([truth, meet[id], meet[id]]).score(truth)
        found = (expected.precision, expected.recall)
        assert found == pytest.approx(mean_of_scores(truth, [truth, meet[id], meet[id]]))
