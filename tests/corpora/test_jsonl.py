"""koala's JSON lines."""

import json

import pytest
from hypothesis import given, settings

from koala.corpora.corpus import Example
from koala.corpora.jsonl import read_examples, write_examples
from koala.document import Entity, Procedure
from koala.document.build import place_steps
from koala.errors import FileError
from koala.grid import Grid

from ..strategies import grids


def read(tmp_path, *values):
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return read_examples(path)


def test_texts_steps_and_entities_are_read(tmp_path):
    one, two = read(
        tmp_path,
        {"id": 5, "text": "1. Mix it.\n2. Bake it.", "entities": ["dough; batter"]},
        {"steps": ["Rain falls."], "prompt": "Why?", "other": [1]},
    )
    assert [step.text for step in one.procedure.steps] == ["Mix it.", "Bake it."]
    assert one.procedure.id == "5"
    assert one.procedure.entities[0].aliases == ("dough", "batter")
    assert (two.procedure.id, two.procedure.question, two.gold) == ("2", "Why?", None)


def test_a_signed_line_without_entities_is_an_empty_grid(tmp_path):
    value = {"id": "a", "steps": ["Hello."], "entities": [], "signature": "model|1"}
    (empty,) = read(tmp_path, value)
    assert empty.gold == Grid("a", ("Hello.",), (), "model|1")
    (bare,) = read(tmp_path, {key: value[key] for key in value if key != "signature"})
    assert bare.gold is None


@settings(max_examples=40)
@given(grid=grids())
def test_gold_grids_survive_a_round_trip(tmp_path_factory, grid):
    steps = place_steps(grid.steps)
    procedure = Procedure(grid.id, steps, tuple(map(Entity, grid.names)), "Q?")
    example = Example(procedure, grid if grid.rows else None)
    path = tmp_path_factory.mktemp("x") / "p.jsonl"
    path.write_text(write_examples([example]))
    assert read_examples(path) == [example]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, '"text"'),
        ({"text": 3}, '"text"'),
        ({"text": ""}, "empty"),
        ({"steps": []}, "empty"),
        ({"steps": "a"}, "list of strings"),
        ({"text": "A.", "entities": "water"}, "must be a list"),
        ({"text": "A.", "entities": ["water", 3]}, "all names or all objects"),
        ({"text": "A.", "entities": [""]}, "empty"),
        ({"text": "A.", "entities": [{"name": "x"}]}, "'steps' is missing"),
        ({"text": "A.", "prompt": 1}, "prompt"),
        ({"text": "A.", "id": "1"}, "twice"),
        ({"steps": ["A.", " "]}, "empty"),
        ({"text": "A.", "steps": ["A."]}, "not both"),
        ({"text": "A.", "id": [1]}, '"id" must be'),
    ],
)
def test_invalid_lines_are_rejected(tmp_path, value, problem):
    with pytest.raises(FileError, match=problem) as caught:
        read(tmp_path, {"text": "Rain falls."}, value)
    assert caught.value.line == 2


def test_null_counts_as_missing(tmp_path):
    value = {"id": None, "steps": None, "text": "Rain falls.", "entities": None, "prompt": None}
    (example,) = read(tmp_path, value)
    assert example.procedure.id == "1"
    assert example.procedure.entities == ()


def test_an_object_or_a_list_over_several_lines_is_read(tmp_path):
    path = tmp_path / "p.json"
    for value in ({"id": "a", "text": "Rain falls."}, [{"id": "a", "text": "Rain falls."}]):
        path.write_text(json.dumps(value, indent=2))
        assert [example.procedure.id for example in read_examples(path)] == ["a"]
    path.write_text("[3]")
    with pytest.raises(FileError, match="list of objects"):
        read_examples(path)
