"""A record is tracked or refused exactly as the server does with the same object."""

import json

import pytest
from fastapi.testclient import TestClient

import koala
from koala.bulk.chunk import track_records
from koala.bulk.records import Limits, Record
from koala.registry import Trackers
from koala.web.app import build_app

TEXT = "Roots absorb water from the soil. The water flows to the leaf."
STEPS = ["Roots absorb water.", "The water flows to the leaf."]


@pytest.fixture(scope="module")
def trackers():
    return Trackers.single(koala.load(n_threads=1))


@pytest.fixture(scope="module")
def client(trackers):
    with TestClient(build_app(trackers)) as client:
        yield client


def track(trackers, *values):
    records = [
        Record("in.jsonl", number, json.dumps(value).encode(), 0, number)
        for number, value in enumerate(values, 1)
    ]
    lines = track_records(trackers, records, Limits())
    return [[json.loads(line) for line in part.splitlines()] for part in (lines.grids, lines.bad)]


def outline(grid):
    """Give a grid without confidences, which only koala batch rounds."""
    entities = [
        (e["name"], [(cell["before"], cell["after"]) for cell in e["steps"]])
        for e in grid["entities"]
    ]
    return {**grid, "entities": entities}


@pytest.mark.parametrize(
    "value",
    [
        {"id": "a", "text": TEXT, "entities": ["water"]},
        {"id": 0, "text": TEXT},
        {"text": TEXT, "entities": []},
        {"text": TEXT, "entities": None},
        {"id": None, "text": TEXT, "steps": None, "entities": ["water"]},
        {"id": "", "text": None, "steps": STEPS, "entities": ["water"]},
        {"steps": ["", *STEPS[:1], " \n", "  The water\tflows. "], "entities": ["water"]},
        {"text": TEXT, "model": None, "find": None, "explain": None, "source": None, "n": [1]},
    ],
)
def test_batch_and_server_give_the_same_grid(trackers, client, value):
    (grids, bad), answer = track(trackers, value), client.post("/api/track", json=value)
    assert bad == []
    assert answer.status_code == 200
    assert outline(grids[0]) == outline(answer.json())


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        (
            {"text": TEXT, "entities": ["unicorn", "water", "oil; fat"], "n": 1},
            ["The text never names unicorn, oil; fat."],
        ),
        (
            {"steps": ["Das Wasser kocht in dem Topf.", "Es wird zu Dampf."], "entities": ["Öl"]},
            [
                "This does not look like English; koala reads English only.",
                "The text never names Öl.",
            ],
        ),
        ({"text": TEXT, "entities": ["roots"], "warnings": "mine"}, "mine"),
    ],
)
def test_batch_and_server_give_the_same_warnings(trackers, client, value, warnings):
    (grids, _), answer = track(trackers, value), client.post("/api/track", json=value)
    assert grids[0]["warnings"] == warnings
    assert outline(grids[0]) == outline(answer.json())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"text": TEXT, "steps": STEPS}, "not both|Give either"),
        ({"text": None, "steps": None}, "missing|Give either"),
        ({"steps": ["   "], "entities": ["water"]}, "The text is empty"),
        ({"steps": []}, "The text is empty"),
        ({"text": "  "}, "The text is empty"),
        ({"steps": ["a", 3]}, "string"),
        ({"text": STEPS}, "string"),
        ({"text": TEXT, "id": True}, "string"),
        ({"text": TEXT, "entities": [" "]}, "name is empty"),
    ],
)
def test_batch_and_server_refuse_the_same(trackers, client, value, reason):
    (grids, (bad,)), answer = track(trackers, value), client.post("/api/track", json=value)
    assert grids == []
    assert answer.status_code == 422
    for message in (bad["reason"], answer.json()["error"]["message"]):
        assert any(each in message for each in reason.split("|"))


@pytest.mark.parametrize(
    "field", [{"model": "recipes"}, {"find": True}, {"explain": True}, {"fixed": []}]
)
def test_options_of_the_server_are_refused(trackers, field):
    grids, bad = track(trackers, {"text": TEXT, **field}, {"text": TEXT, "entities": ["water"]})
    assert [grid["id"] for grid in grids] == ["2"]
    assert f'does not accept "{next(iter(field))}" in a record' in bad[0]["reason"]


def test_a_text_without_any_entity_has_an_empty_grid(trackers):
    (empty, full), _ = track(trackers, {"text": "Hello."}, {"text": TEXT})
    assert empty == {
        "id": "1", "steps": ["Hello."], "step_spans": [{"start": 0, "end": 6}], "entities": [],
        "signature": full["signature"],
    }  # fmt: skip
    assert full["entities"]


# Lists of ingredients or materials are dropped from the steps: of MILL only the raw text looks like
# a recipe, of EGGS only the steps.
MILL = (
    "Ingredients\n2 cups flour\n1 teaspoon salt\n3 eggs\n1 cup milk\n\n"
    "Method\nThe wheat is harvested by a farmer.\nIt is then carried to the mill.\n"
    "Grind the grains.\n"
)
EGGS = (
    "Ingredients\nsoap\nalcohol\ndetergent\nsterile tube\n\n"
    "Directions\nBoil the eggs.\nPeel them.\nServe.\n"
)


def test_the_model_is_chosen_by_the_content_as_given():
    both = Trackers.bundled(koala.load)
    values = [{"text": text, "entities": ["eggs"]} for text in (MILL, EGGS)]
    grids, _ = track(both, *values)
    split = [{"steps": grid["steps"], "entities": ["eggs"]} for grid in grids]
    found = [grid["signature"] for grid in grids + track(both, *split)[0]]
    with TestClient(build_app(both)) as client:
        answers = client.post("/api/track", json=values + split).json()
    assert found == [answer["signature"] for answer in answers]
    small, recipes = both.signatures.values()
    assert found == [recipes, small, small, recipes]
