"""The files of Recipes."""

import json

import pytest

from koala.corpora.recipes import read, read_examples, write_grids
from koala.errors import FileError

RECIPE = {
    "para_id": "8",
    "sentences": ["mix flour .", "bake it ."],
    "participants": ["flour"],
    "locations": [["-", "bowl", "oven"]],
    "exist": [["E", "E"]],
}


def write(tmp_path, *recipes):
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(recipe) + "\n" for recipe in recipes))
    return path


def test_ingredients_change_only_in_steps_that_use_them(data):
    splits = read(data / "recipes").splits
    assert [len(splits[split]) for split in ("train", "dev", "test")] == [693, 86, 87]
    for example in (*splits["train"], *splits["dev"]):
        for row, participation in zip(example.gold.rows, example.participation, strict=True):
            changes = [a != b for a, b in zip(row.locations, row.locations[1:], strict=False)]
            assert all(
                used or not changed for used, changed in zip(participation, changes, strict=True)
            )


def test_grids_survive_a_round_trip(data, tmp_path):
    golds = [example.gold for example in read(data / "recipes").splits["dev"]]
    path = tmp_path / "out.jsonl"
    path.write_text(write_grids(golds, has_text=True))
    assert [example.gold for example in read_examples(path)] == golds


def test_predictions_need_no_text(tmp_path):
    bare = {key: RECIPE[key] for key in ("para_id", "participants", "locations")}
    (example,) = read_examples(write(tmp_path, bare))
    assert example.gold["flour"].locations == ("-", "bowl", "oven")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"para_id": None}, "para_id"),
        ({"sentences": "mix"}, "sentences"),
        ({"sentences": []}, "no steps"),
        ({"participants": [1]}, "participants"),
        ({"locations": []}, "expected 1 rows, got 0"),
        ({"locations": [["-", "bowl"]]}, "expected 3 cells in a row, got 2"),
        ({"locations": [["-", "bowl", 3]]}, "lists of strings"),
        ({"locations": [["-", "bowl", ""]]}, "lists of strings"),
        ({"locations": "x"}, "expected 1 rows, got 'x'"),
        ({"exist": [["E"]]}, "expected 2 cells in a row, got 1"),
    ],
)
def test_invalid_recipes_are_rejected_with_their_line(tmp_path, change, problem):
    with pytest.raises(FileError, match=problem) as caught:
        read_examples(write(tmp_path, {**RECIPE, "para_id": "1"}, {**RECIPE, **change}))
    assert caught.value.line == 2


def test_duplicate_recipes_are_rejected(tmp_path):
    with pytest.raises(FileError, match="twice"):
        read_examples(write(tmp_path, RECIPE, RECIPE))
