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
def test_every_step_is_judged_once_in_a_window_that_can_be_read(sizes, most):
    windows = split_windows(sizes, most)
    judged = [step for window in windows for step in range(window.first, window.last)]
    assert judged == list(range(len(sizes)))
    for window in windows:
        assert window.start <= window.first < window.last <= window.stop
        assert sum(sizes[window.start : window.stop]) <= most


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_the_cost_grows_with_the_length_and_no_faster(sizes):
    read = sum(sum(sizes[w.start : w.stop]) for w in split_windows(sizes, 80))
    assert read <= 3 * sum(sizes)


def test_a_step_that_cannot_be_read_is_refused():
    with pytest.raises(KoalaError, match="Step 2 has 300 word pieces"):
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


def test_short_neighbours_of_long_texts_stay_as_they_are(tracker):
    long = Procedure.from_text("\n".join(STEPS * 30), ["water"], id="long")
    short = Procedure.from_text("\n".join(STEPS), ["water", "sugar"], id="short")
    together = {grid.id: grid for grid in tracker.track_all([long, short])}
    (alone,) = tracker.track_all([short])
    assert [row.locations for row in together["short"].rows] == [
        row.locations for row in alone.rows
    ]


def test_windows_of_the_whole_text_say_what_the_text_says(tracker):
    """One window that holds all steps is the text itself, whichever way it is read."""
    items = tracker._build_items([Procedure.from_text("\n".join(STEPS), ["water", "sugar"])], None)
    reader = tracker.scorer
    assert isinstance(reader, NetworkScorer)
    plain = reader(items)
    sizes = reader.batcher.count_subwords(items[0].procedure)
    joined = reader._score_long(items, sizes)
    np.testing.assert_allclose(joined.tags, plain.tags, atol=1e-5)
    np.testing.assert_allclose(joined.locations, plain.locations, atol=1e-5)
