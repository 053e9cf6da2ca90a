import pytest

from koala.errors import KoalaError
from koala.evaluation.changes import score_changes
from koala.evaluation.locations import is_alike
from koala.grid import Grid, Row


def grid_of(id="kitchen/toast", **rows) -> Grid:
    made = tuple(Row.from_locations(name, cells.split()) for name, cells in rows.items())
    return Grid(id, ("",) * (len(made[0].locations) - 1), made)


GOLD = grid_of(bread="? toaster -", toast="- - toaster")


def test_a_worked_example():
    # Gold: the bread moves and is destroyed, the toast is created. All actions are right; the new
    # location of the bread is wrong.
    predicted = grid_of(bread="? pan -", toast="- - toaster")
    scores = score_changes({GOLD.id: predicted}, {GOLD.id: GOLD}).overall
    assert (scores.actions.precision, scores.actions.recall) == (1.0, 1.0)
    # So the bread is also destroyed in the wrong location: the pan, not the toaster.
    assert scores.located.f1 == pytest.approx(1 / 3)
    assert scores.cells == pytest.approx(3 / 4)


def test_missed_and_superfluous_changes():
    predicted = grid_of(bread="? ? ?", toast="- toaster -")
    scores = score_changes({GOLD.id: predicted}, {GOLD.id: GOLD}).overall
    assert (scores.actions.precision, scores.actions.recall) == (0.0, 0.0)


def test_gold_scores_perfectly_against_itself_in_every_field():
    other = grid_of("garden/seed", seed="bag soil")
    gold = {grid.id: grid for grid in (GOLD, other)}
    scores = score_changes(gold, gold)
    assert list(scores.fields) == ["garden", "kitchen"]
    assert scores.overall.located.f1 == 1.0
    assert scores.overall.located_interval == (1.0, 1.0)
    assert scores.fields["garden"].procedures == 1


def test_found_entities_are_matched_by_head_nouns():
    found = grid_of(**{"sliced bread": "? toaster -", "kitchen": "? ? table"})
    scores = score_changes({GOLD.id: found}, {GOLD.id: GOLD}, has_found_entities=True).overall
    # Two of three gold changes are found; one of three predicted ones is of an unmatched entity.
    assert (scores.located.precision, scores.located.recall) == (2 / 3, 2 / 3)


def test_different_entities_are_refused():
    with pytest.raises(KoalaError, match="is missing"):
        score_changes({GOLD.id: grid_of(bread="? ? ?")}, {GOLD.id: GOLD})


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        ("drying cabinet", "drying cabinets", True),
        ("tube", "1.5 ml tube", True),
        ("the clean tube", "tubes", True),
        ("clean tube", "dirty tube", False),
        ("tube", "tube rack", False),
        ("-", "?", False),
        ("?", "?", True),
        ("?", "tube", False),
    ],
)
def test_locations_are_alike_up_to_endings_and_modifiers(one, other, is_one):
    assert is_alike(one, other) is is_one
    assert is_alike(other, one) is is_one
