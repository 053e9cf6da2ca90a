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


def test_every_change_falls_on_a_step_that_uses_the_ingredient(data):
    splits = read(data / "recipes").splits
    assert [len(splits[split]) for split in ("train", "dev", "test")] == [693, 86, 87]
    for example in (*splits["train"], *splits["dev"]):
        for row, takes_part in zip(example.gold.rows, example.takes_part, strict=True):
            changes = [a != b for a, b in zip(row.locations, row.locations[1:], strict=False)]
            assert all(
                used or not changed for used, changed in zip(takes_part, changes, strict=True)
            )


def test_grids_written_and_read_again(data, tmp_path):
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
        ({"locations": []}, "0 rows came, 1 were expected"),
        ({"locations": [["-", "bowl"]]}, "a row of 2 cells came, 3 were expected"),
        ({"locations": [["-", "bowl", 3]]}, "lists of strings"),
        ({"locations": [["-", "bowl", ""]]}, "lists of strings"),
        ({"locations": "x"}, "'x' rows came"),
        ({"exist": [["E"]]}, "a row of 1 cells came, 2"),
    ],
)
def test_bad_recipes_are_refused_with_their_line(tmp_path, change, problem):
    with pytest.raises(FileError, match=problem) as caught:
        read_examples(write(tmp_path, {**RECIPE, "para_id": "1"}, {**RECIPE, **change}))
    assert caught.value.line == 2


def test_a_recipe_twice_is_refused(tmp_path):
    with pytest.raises(FileError, match="twice"):
        read_examples(write(tmp_path, RECIPE, RECIPE))
