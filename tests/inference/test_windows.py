import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import koala
from koala.document import Procedure
from koala.errors import KoalaError
from koala.inference.scoring import NetworkScorer
from koala.inference.windows import split_windows


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(40, 100))
def test_every_step_is_scored_once_in_a_window_within_the_limit(sizes, most):
    windows = split_windows(sizes, most)
    scored = [step for window in windows for step in range(window.first, window.last)]
    assert scored == list(range(len(sizes)))
    for window in windows:
        assert window.start <= window.first < window.last <= window.stop
        assert sum(sizes[window.start : window.stop]) <= most


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_the_cost_grows_linearly(sizes):
    read = sum(sum(sizes[w.start : w.stop]) for w in split_windows(sizes, 80))
    assert read <= 3 * sum(sizes)


def test_a_step_longer_than_a_window_is_refused():
    with pytest.raises(KoalaError, match=r"Step 2 has 300 subwords; the network reads at most 256"):
        split_windows([4, 300], 256)


STEPS = [
    "Roots absorb water from the soil.",
    "The water flows to the leaf.",
    "The leaf makes sugar.",
    "The sugar moves to the root.",
]


@pytest.fixture(scope="module")
def tracker():
    return koala.load()


def test_long_texts_are_tracked_to_the_end(tracker):
    procedure = Procedure.from_text("\n".join(STEPS * 30), ["water", "sugar", "stone"])
    (grid,) = tracker.track_all([procedure])
    assert len(grid.steps) == 120
    assert all(row.problem is None for row in grid.rows)
    assert "leaf" in grid["water"].locations


def test_a_long_text_does_not_change_a_short_one_in_its_batch(tracker):
    long = Procedure.from_text("\n".join(STEPS * 30), ["water"], id="long")
    short = Procedure.from_text("\n".join(STEPS), ["water", "sugar"], id="short")
    together = {grid.id: grid for grid in tracker.track_all([long, short])}
    (alone,) = tracker.track_all([short])
    assert [row.locations for row in together["short"].rows] == [
        row.locations for row in alone.rows
    ]


def test_one_window_scores_as_the_whole_text(tracker):
    """A single window that holds all steps gives the same scores as the text itself."""
    items = tracker._build_items([Procedure.from_text("\n".join(STEPS), ["water", "sugar"])], None)
    scorer = tracker.scorer
    assert isinstance(scorer, NetworkScorer)
    plain = scorer(items)
    sizes = scorer.batcher.count_subwords(items[0].procedure)
    joined = scorer._score_long(items, sizes)
    np.testing.assert_allclose(joined.tags, plain.tags, atol=1e-5)
    np.testing.assert_allclose(joined.locations, plain.locations, atol=1e-5)
