"""Fixed cells: they stand as they were fixed, and the rest of the grid follows."""

import pytest

import koala
from koala.document import Procedure
from koala.errors import KoalaError
from koala.grid import Grid
from koala.grid.states import Action
from koala.inference.fixes import add_fixed_candidates, fix_cells, parse_fix

TEXT = """Fill the kettle with water.
Put the kettle on the stove.
Pour the water into the cup.
Drop the bag into the cup."""


@pytest.fixture(scope="module")
def tracker():
    return koala.load()


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
@pytest.mark.parametrize(
    ("fixed", "wanted"),
    [
        ({("water", 2): "stove"}, "stove"),
        ({("water", 2): "the Stove"}, "stove"),
        ({("water", 2): "-"}, "-"),
        ({("water", 2): "?"}, "?"),
        ({("water", 2): "blue thermos"}, "blue thermos"),
    ],
)
def test_a_fixed_cell_stands_and_the_row_is_consistent(tracker, decoding, fixed, wanted):
    grid = tracker.with_decoding(decoding).track(TEXT, ["water", "bag"], fixed=fixed)
    cell = grid["water"].steps[1]
    assert (cell.after, cell.is_fixed, cell.confidence) == (wanted, True, 1.0)
    assert all(row.problem is None for row in grid.rows)
    assert not any(c.is_fixed for c in grid["bag"].steps)
    assert Grid.from_json(grid.to_json()) == grid


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
@pytest.mark.parametrize("action", list(Action))
def test_a_fixed_action_happens(tracker, decoding, action):
    other = tracker.with_decoding(decoding)
    cell = other.track(TEXT, ["water"], fixed={("water", 2): action})["water"].steps[1]
    assert (cell.action, cell.is_fixed) == (action, True)


def test_an_action_with_its_location(tracker):
    fixed = {("water", 2): (Action.CREATE, "the stove"), ("water", 4): Action.DESTROY}
    row = tracker.track(TEXT, ["water"], fixed=fixed)["water"]
    assert row.locations[:3] == ("-", "-", "stove")
    assert row.locations[4] == "-" != row.locations[3]


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
def test_the_cells_around_a_fix_follow(tracker, decoding):
    other = tracker.with_decoding(decoding)
    plain = other.track(TEXT, ["water"])["water"]
    assert "-" not in plain.locations
    # What does not exist cannot be moved or destroyed.
    fixed = other.track(TEXT, ["water"], fixed={("water", 1): "-"})["water"]
    assert fixed.locations[1] == "-"
    assert fixed.actions[1] in (Action.NONE, Action.CREATE)
    assert fixed.problem is None
    # What is created did not exist before, and what is destroyed did.
    actions = {("water", 3): Action.CREATE, ("water", 4): Action.DESTROY}
    fixed = other.track(TEXT, ["water"], fixed=actions)["water"]
    assert [each == "-" for each in fixed.locations[2:]] == [True, False, True]
    assert fixed.problem is None


def test_what_is_said_before_the_first_step_is_the_initial_location(tracker):
    grid = tracker.track(TEXT, ["water"], fixed={("water", 0): "cup"})
    assert grid["water"].initial == "cup"


def test_an_entity_that_was_not_named_is_added(tracker):
    grid = tracker.track(TEXT, ["water"], fixed={("tea", 4): "cup"})
    assert grid.names == ("water", "tea")
    assert grid["tea"].locations[-1] == "cup"


def test_reasons_are_conditional(tracker):
    found = tracker.explain(TEXT, ["water"], fixed={("water", 2): "stove"})
    assert found.reasons[0][1].locations["stove"] == pytest.approx(1.0)


def test_a_step_of_a_recipe_leads_its_ingredient_where_it_was_fixed():
    text = "Mix the flour in a bowl.\nPour it into a pan.\nPut the pan in the oven."
    tracker = koala.load("recipes")
    for decoding in ("viterbi", "mbr"):
        other = tracker.with_decoding(decoding)
        grid = other.track(text, ["flour"], fixed={("flour", 2): "oven"})
        assert grid["flour"].locations[2] == "oven"


def test_mistakes_are_told():
    procedure = Procedure.from_text(TEXT, ["water"])
    with pytest.raises(KoalaError, match="steps 1 to 4"):
        fix_cells(procedure, {("water", 9): "cup"})
    with pytest.raises(KoalaError, match="the location is empty"):
        fix_cells(procedure, {("water", 1): " "})
    with pytest.raises(KoalaError, match="fixed twice"):
        fix_cells(procedure, {("water", 1): "cup", ("Water", 1): "pot"})
    with pytest.raises(KoalaError, match="no action happens before the first step"):
        fix_cells(procedure, {("water", 0): Action.CREATE})
    with pytest.raises(KoalaError, match="does not exist after the step"):
        fix_cells(procedure, {("water", 1): (Action.MOVE, "-")})
    with pytest.raises(KoalaError, match="is at 'cup' after the step"):
        fix_cells(procedure, {("water", 1): (Action.DESTROY, "cup")})
    with pytest.raises(KoalaError, match=r"ENTITY@STEP=LOCATION was expected"):
        parse_fix("water in the pot")
    assert parse_fix("plant; seed@12= the = sign ") == (("plant; seed", 12), "the = sign")


def test_typed_locations_become_candidates_once():
    procedure = fix_cells(
        Procedure.from_text(TEXT, ["water", "bag"]),
        {("water", 1): "my jug", ("bag", 1): "My jug", ("bag", 2): "-"},
    )
    assert [c.name for c in add_fixed_candidates(procedure).candidates] == ["my jug"]
