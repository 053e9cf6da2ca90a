"""Grids: cells, lookup by name, round trips through every format, errors."""

import csv
import json

import pytest
from hypothesis import given

from koala.corpora.leaderboard import read_grids, read_leaderboard, read_predictions
from koala.corpora.recipes import read as read_recipes
from koala.errors import KoalaError
from koala.grid import Cell, Grid, Row
from koala.grid.states import Action, Tag, locations_from_tags

from ..strategies import grids

WATER = Row.from_locations("water; rain", ["?", "soil", "soil", "-"])
GRID = Grid("7", ("Rain falls.", "It waits.", "It dries."), (WATER,))


def test_a_location_row_gives_cells_and_tags():
    assert WATER.steps[0] == Cell(Action.MOVE, "?", "soil")
    assert [cell.action for cell in WATER.steps] == [Action.MOVE, Action.NONE, Action.DESTROY]
    assert WATER.tags == (Tag.M, Tag.E, Tag.D)
    assert WATER.initial == "?"


def test_an_entity_is_found_by_name_alias_and_case():
    assert GRID["water; rain"] is GRID["Rain"] is GRID["water"] is WATER


def test_lookup_gives_the_first_of_two_entities_with_the_same_name():
    first, second = Row.from_locations("x", ["a", "b"]), Row.from_locations("x", ["c", "d"])
    assert Grid("1", ("s",), (first, second))["x"] is first


def test_the_error_for_an_unknown_entity_lists_the_known_ones():
    with pytest.raises(KeyError, match="Its entities: water; rain"):
        GRID["sugar"]


def test_json_has_the_published_shape():
    value = json.loads(GRID.to_json())
    assert list(value) == ["id", "steps", "entities"]
    assert value["entities"][0]["initial"] == "?"
    assert value["entities"][0]["steps"][0] == {
        "step": 1,
        "action": "MOVE",
        "before": "?",
        "after": "soil",
    }


def test_tsv_has_the_leaderboard_columns():
    assert GRID.to_tsv().splitlines()[2] == "7\t3\twater; rain\tDESTROY\tsoil\t-"


def test_a_tab_or_line_end_inside_a_name_does_not_break_the_tsv():
    grid = Grid("1", ("s",), (Row.from_locations("a\tb\nc", ["x", "y"]),))
    assert grid.to_tsv() == "1\t1\ta b c\tMOVE\tx\ty\n"


@given(grids())
def test_grids_survive_a_round_trip_through_json(grid):
    assert Grid.from_json(grid.to_json()) == grid


@given(grids())
def test_csv_can_be_read_by_the_standard_reader(grid):
    rows = list(csv.reader(grid.to_csv().splitlines()))
    assert len(rows) == 1 + len(grid.rows) * len(grid.steps)
    assert all(len(row) == 6 for row in rows)


@given(grids())
def test_rows_survive_a_round_trip_through_tags(grid):
    for row in grid.rows:
        assert row.problem is None
        assert Row.from_tags(row.name, row.tags, row.locations) == row


def test_all_gold_grids_of_train_and_dev_survive_round_trips(propara, data, tmp_path):
    propara_splits = read_leaderboard(propara / "leaderboard").splits
    recipes_splits = read_recipes(data / "recipes").splits
    n_rows = 0
    for split in ("train", "dev"):
        for example in (*propara_splits[split], *recipes_splits[split]):
            gold = example.gold
            assert Grid.from_json(gold.to_json()) == gold
            for row in gold.rows:
                assert row.problem is None
                assert locations_from_tags(row.tags, row.locations) == row.locations
                n_rows += 1
        golds = [example.gold for example in propara_splits[split]]
        (tmp_path / "out.tsv").write_text("".join(gold.to_tsv() for gold in golds))
        texts = {gold.id: gold.steps for gold in golds}
        assert list(read_grids(tmp_path / "out.tsv", texts).values()) == golds
    assert n_rows == 1504 + 175 + 6089 + 756


def test_contradictory_rows_have_a_problem(propara):
    case = read_predictions(propara / "evaluator-cases" / "19" / "predictions.tsv")
    problems = [row.problem for grid in case.values() for row in grid.rows if row.problem]
    assert problems
    assert all("step " in problem for problem in problems)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "object"),
        ("{", "Not JSON"),
        ('{"id": "1", "steps": ["a"]}', "'entities' is missing"),
        ('{"id": "1", "steps": "a", "entities": []}', "'steps' must be list"),
        ('{"id": "1", "steps": [1], "entities": []}', "strings"),
        ('{"id": "1", "steps": ["a"], "entities": [3]}', "object"),
        ('{"id": "1", "steps": ["a"], "entities": [{"name": "x", "steps": []}]}', "has 0 steps"),
        (
            '{"id": "1", "steps": ["a"], "entities": [{"name": "x", "steps":'
            ' [{"action": "FLY", "before": "a", "after": "b"}]}]}',
            "'FLY' is unknown",
        ),
        (
            '{"id": "1", "steps": ["a"], "entities": [{"name": "x", "steps":'
            ' [{"action": "CREATE", "before": "-", "after": "-"}]}]}',
            "with CREATE, before is - and after is a location",
        ),
        (
            '{"id": "1", "steps": ["a"], "entities": [{"name": "x", "steps":'
            ' [{"step": 2, "action": "NONE", "before": "-", "after": "-"}]}]}',
            "expected step 1, got 2",
        ),
        (
            '{"id": "1", "steps": ["a"], "entities": [{"name": "x", "initial": "b", "steps":'
            ' [{"action": "NONE", "before": "-", "after": "-"}]}]}',
            "initial is 'b'",
        ),
        ('{"id": "1", "steps": [], "entities": [{"name": " ", "steps": []}]}', "name is empty"),
    ],
)
def test_invalid_json_is_rejected(text, problem):
    with pytest.raises(KoalaError, match=problem):
        Grid.from_json(text)
