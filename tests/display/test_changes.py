import pytest

from koala.display.changes import find_changes, find_runner_up
from koala.grid import Cell, Grid, Row
from koala.grid.explanation import Explanation, Reason
from koala.grid.states import Action

from .anything import RAIN, TRIPLES, explain

RISE = Cell(Action.MOVE, "sea", "air")
FORM = Cell(Action.CREATE, "-", "air")
END = Cell(Action.DESTROY, "air", "-")


def because(none: float, create: float, move: float, destroy: float, **locations: float) -> Reason:
    actions = dict(zip(Action, (none, create, move, destroy), strict=True))
    return Reason(actions, 1 - destroy, locations, ())


@pytest.mark.parametrize(
    ("cell", "reason", "other", "probability"),
    [
        (RISE, because(0.2, 0, 0.8, 0), "stays where it is", 0.2),
        (RISE, because(0.1, 0, 0.9, 0, air=0.6, sky=0.4), "to sky", 0.36),
        # A move back is no move; the chosen location is no alternative.
        (RISE, because(0.1, 0, 0.9, 0, air=0.5, sea=0.5), "stays where it is", 0.1),
        (RISE, because(0.1, 0, 0.9, 0, **{"?": 0.5}), "to an unknown location", 0.45),
        (FORM, because(0.3, 0.7, 0, 0), "not yet", 0.3),
        (FORM, because(0.1, 0.9, 0, 0, air=0.5, sky=0.4), "at sky", 0.36),
        (END, because(0.1, 0, 0.3, 0.6, sky=1), "moved", 0.3),
        (RISE, because(0, 0.1, 0.7, 0.2), "destroyed", 0.2),
    ],
)  # fmt: skip
def test_runner_ups(cell, reason, other, probability):
    assert find_runner_up(cell, reason) == (other, pytest.approx(probability))


def summarize(confidence: float | None, none: float) -> str:
    row = Row("ink", (Cell(Action.MOVE, "pen", "paper", confidence),))
    grid = Grid("1", ("One.",), (row,))
    (change,) = find_changes(Explanation(grid, ((because(none, 0, 1 - none, 0),),)))
    return change.summary


def test_the_confidence_is_given():
    assert summarize(0.9, 0.1) == "moved from pen to paper, 90% sure; or stays where it is, 10%"
    assert summarize(0.3, 0.7) == (
        "moved from pen to paper, 30% sure; by itself rather stays where it is, 70%"
    )
    assert summarize(None, 0.7) == "moved from pen to paper; or stays where it is, 70%"
    assert summarize(1.0, 0.001) == "moved from pen to paper, 100% sure"


def test_changes_are_in_the_order_of_the_steps():
    changes = [(change.step, change.name) for change in find_changes(explain(RAIN, TRIPLES))]
    assert changes == [
        (1, "water"),
        (2, "water"),
        (2, "cloud; clouds"),
        (3, "water"),
        (3, "cloud; clouds"),
    ]
