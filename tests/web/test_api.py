"""The HTTP API with a fake tracker."""

import asyncio
import json
import re
from xml.etree import ElementTree

import httpx2
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

import koala
from koala.bundled.examples import list_examples, read_example
from koala.corpora.written import read_file
from koala.grid.states import Action
from koala.grid.views import find_views
from koala.registry import Trackers
from koala.text.nlp import load_tagger
from koala.web.app import build_app
from koala.web.headers import POLICY
from koala.web.limits import Limits
from koala.web.schemas import ErrorValue, Grids, GridValue

from .fake import SECRET, FakeTracker

TEXT = "Rain fills the sea.\nThe sun lifts water into the air."
RECIPE = "Beat the eggs with sugar.\nPour the batter into a pan.\nBake it in the oven."
HOSTILE = "<script>alert(1)</script>"


def ask(client, value, path="/api/track"):
    return client.post(path, json=value)


def error_of(answer):
    """Give the error of a response; check its schema and headers."""
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["content-type"] == "application/json"
    return ErrorValue.model_validate(answer.json(), strict=True, extra="forbid").error


# Tracking


def test_an_object_gives_a_grid(client, tracker):
    answer = ask(client, {"id": "rain", "text": TEXT, "entities": ["water"]})
    assert answer.status_code == 200
    assert answer.json() == tracker.track(TEXT, ["water"], id="rain").to_dict()
    assert answer.json()["entities"][0]["steps"][1] == {
        "step": 2, "action": "MOVE", "before": "sea", "after": "air", "location_span": None,
        "confidence": 0.75,
    }  # fmt: skip


def test_a_question_is_read_and_has_a_limit(client, tracker):
    answer = ask(client, {"text": TEXT, "entities": ["water"], "question": "How does it rain?"})
    assert answer.status_code == 200
    assert tracker.questions[-1] == "How does it rain?"
    # Unlike other fields, it is not copied to the response.
    assert "question" not in answer.json()
    refused = ask(client, {"text": TEXT, "entities": ["water"], "prompt": "why " * 100_000})
    assert refused.status_code in (413, 422)
    assert error_of(refused).field == "question"


def test_a_list_gives_a_list_in_order(client):
    value = [{"text": TEXT, "entities": ["a"]}, {"id": 7, "steps": ["To b."], "entities": ["b"]}]
    grids = ask(client, value).json()
    assert [(grid["id"], grid["entities"][0]["name"]) for grid in grids] == [("1", "a"), ("7", "b")]
    assert ask(client, []).json() == []


def test_explanations_have_a_reason_in_every_cell(client, tracker):
    value = {"text": TEXT, "entities": ["water"], "explain": True}
    answer = ask(client, value).json()
    assert answer == json.loads(tracker.explain(TEXT, ["water"], id="1").to_json())
    assert answer["entities"][0]["steps"][1]["reason"]["mentions"] == [[14, 19]]


def fix(entity, step, **said):
    return {"entity": entity, "step": step, **said}


def test_fixed_cells_are_read_and_marked(client, tracker):
    fixed = [
        fix("water", 1, location="lake"),
        fix("water", 2, action="MOVE", location="sky"),
        fix("rain", 2, action="DESTROY"),
    ]
    value = {"text": TEXT, "entities": ["water", "rain"], "fixed": fixed}
    answer = ask(client, value).json()
    assert tracker.fixes[-1] == {
        ("water", 1): "lake", ("water", 2): (Action.MOVE, "sky"), ("rain", 2): Action.DESTROY,
    }  # fmt: skip
    water, rain = answer["entities"]
    assert [(cell["after"], cell["fixed"]) for cell in water["steps"]] == [
        ("lake", True),
        ("sky", True),
    ]
    assert "fixed" not in rain["steps"][0]
    assert rain["steps"][1]["fixed"]
    assert "fixed" not in answer
    assert ask(client, answer, "/api/export?format=json").json() == answer
    explained = ask(client, {**value, "explain": True}).json()
    assert explained["entities"][0]["steps"][0]["fixed"]


@pytest.mark.parametrize(
    ("fixed", "code", "field", "message"),
    [
        ([fix("water", 1)], "invalid", "fixed.0", '"location", "action" or both'),
        ([fix("water", -1, location="sea")], "invalid", "fixed.0.step", "greater than or equal"),
        ([fix("water", 1, action="EAT")], "invalid", "fixed.0.action", "'NONE', 'CREATE'"),
        ([fix("water", 1, place="sea")], "invalid", "fixed.0.place", "not permitted"),
        ({"water@1": "sea"}, "invalid", "fixed", "list"),
        ([fix("w" * 201, 1, location="a")], "too_many_name", "fixed.0.entity", "limit is 200"),
        ([fix("w", 1, location="a" * 201)], "too_many_name", "fixed.0.location", "limit is 200"),
        ([fix("w", 1, location="a")] * 201, "too_many_fixes", "fixed", "limit is 200"),
        ([fix("w", 1, location="a")] * 2, "not_tracked", None, "w@1 is fixed twice"),
        ([fix("water", 1, location="contradiction")], "not_tracked", None, "contradict each other"),
    ],
)
def test_wrong_fixes_are_refused(client, fixed, code, field, message):
    answer = ask(client, {"text": TEXT, "entities": ["water"], "fixed": fixed})
    assert answer.status_code == 422
    error = error_of(answer)
    assert (error.code, error.field) == (code, field)
    assert message in error.message


def test_the_bundled_model_decodes_given_fixes():
    text = "Fill the kettle with water.\nPut the kettle on the stove.\nPour the water into a cup."
    fixed = [fix("water", 2, action="DESTROY"), fix("water", 3, location="cup")]
    with TestClient(build_app(Trackers.bundled(koala.load))) as client:
        value = {"text": text, "entities": ["water"], "model": "small"}
        one = ask(client, {**value, "fixed": fixed}).json()
        wrong = [fix("water", 1, location="-"), fix("water", 2, action="DESTROY")]
        refused = ask(client, {**value, "fixed": wrong})
        recipe = ask(client, {**value, "fixed": fixed, "model": "recipes"})
    cells = one["entities"][0]["steps"]
    assert [cell["action"] for cell in cells[1:]] == ["DESTROY", "CREATE"]
    assert cells[2]["after"] == "cup"
    assert refused.status_code == 422
    assert "water: The fixed cells contradict each other" in error_of(refused).message
    assert "ingredients of recipes are never destroyed" in error_of(recipe).message


def test_entities_are_found_if_none_are_given_or_find_is_set(client, tracker):
    assert [e["name"] for e in ask(client, {"text": TEXT}).json()["entities"]] == [
        "water", "leaf",
    ]  # fmt: skip
    mixed = ask(client, {"text": TEXT, "entities": ["sun"], "find": True}).json()
    assert [entity["name"] for entity in mixed["entities"]] == ["sun", "water", "leaf"]
    assert [call[1:3] for call in tracker.calls] == [(None, False), (["sun"], True)]


@pytest.mark.parametrize("entities", [[], None])
def test_an_empty_list_of_entities_counts_as_missing(client, tracker, entities):
    answer = ask(client, {"text": TEXT, "entities": entities})
    assert [entity["name"] for entity in answer.json()["entities"]] == ["water", "leaf"]
    assert tracker.calls[0][1] is None


def test_null_counts_as_missing(client):
    fields = ("id", "steps", "entities", "model", "find", "explain")
    answer = ask(client, {"text": TEXT, **dict.fromkeys(fields), "source": None})
    assert answer.json() == {**ask(client, {"text": TEXT}).json(), "source": None}


def test_other_fields_are_copied_and_never_replace_those_of_the_grid(client):
    value = {"text": TEXT, "entities": ["a"], "source": {"page": 3}, "signature": "mine"}
    answer = ask(client, value).json()
    assert answer["source"] == {"page": 3}
    assert answer["signature"] == "fake|1"


def test_an_entity_that_the_text_never_names_is_tracked_with_a_warning(client):
    grid = ask(client, {"text": TEXT, "entities": ["water", "unicorn"]}).json()
    assert grid["warnings"] == ["The text never names unicorn."]


def test_other_languages_are_tracked_with_a_warning(client):
    german = "Das Wasser steigt in die Luft.\nDie Wolke zieht über das Land und es regnet."
    grid = ask(client, {"text": german, "entities": ["Wasser"]}).json()
    assert grid["warnings"] == ["This does not look like English; koala reads English only."]
    assert "warnings" not in ask(client, {"text": TEXT, "entities": ["water"]}).json()


def test_the_vocabulary_does_not_grow_with_the_texts(client):
    words = load_tagger().vocab.strings
    before = len(words)
    text = "The grommelnuft of a zibblewock meets the frandlequist. It stops."
    assert ask(client, {"text": text, "entities": ["snorkwhiff"]}).status_code == 200
    assert len(words) == before


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ("", 422, "invalid", None),
        ("{", 400, "not_json", None),
        ('{"text": "\\ud800"}', 400, "not_json", None),
        ('{"text": NaN}', 400, "not_json", None),
        ("[" * 5000, 400, "not_json", None),
        (b"\xff", 400, "not_json", None),
        ("3", 422, "invalid", None),
        ("{}", 422, "invalid", None),
        ('{"text": "a", "steps": ["a"]}', 422, "invalid", None),
        ('{"text": 3}', 422, "invalid", "text"),
        ('{"steps": ["a", 3]}', 422, "invalid", "steps.1"),
        ('{"text": "a", "entities": "water"}', 422, "invalid", "entities"),
        ('{"text": "a", "entities": [{"name": "a"}]}', 422, "invalid", "entities.0"),
        ('{"text": "a", "explain": "yes"}', 422, "invalid", "explain"),
        ('{"text": "a", "id": true}', 422, "invalid", "id"),
        ('{"text": "a", "model": 3}', 422, "invalid", "model"),
        ('{"text": "a", "model": ""}', 422, "unknown_model", "model"),
        ('{"text": "a", "note": 1e999}', 400, "not_json", None),
        ('[{"text": "a"}, {"text": null}]', 422, "invalid", "1"),
        ('[{"text": "a"}, {"text": "a", "find": 1, "one": 1}]', 422, "invalid", "1.find"),
        ('{"steps": [" ", ""], "entities": ["a"]}', 422, "not_tracked", None),
        ('[{"text": "a"}, {"text": " "}]', 422, "not_tracked", "1"),
    ],
)
def test_invalid_requests_are_refused(client, body, status, code, field):
    answer = client.post("/api/track", content=body, headers={"content-type": "application/json"})
    error = error_of(answer)
    assert (answer.status_code, error.code, error.field) == (status, code, field)
    assert len(error.message) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text(max_size=9) | st.integers() | JSON,
        "text": st.text() | JSON,
        "steps": st.lists(st.text(), max_size=5) | JSON,
        "entities": st.lists(st.text(max_size=20), max_size=3) | JSON,
        "explain": st.booleans() | JSON,
        "model": st.sampled_from(["auto", "fake"]) | JSON,
        "content": JSON,
    },
)


@pytest.fixture(scope="module")
def always():
    """Give one client for many requests."""
    with TestClient(
        build_app(Trackers.single(FakeTracker())), raise_server_exceptions=False
    ) as client:
        yield client


@given(NEARLY | st.lists(NEARLY, max_size=3) | JSON)
def test_any_json_is_tracked_or_refused(always, value):
    body = json.dumps(value).encode()
    answer = always.post("/api/track", content=body, headers={"content-type": "application/json"})
    if answer.status_code == 200:
        TypeAdapter(Grids).validate_python(answer.json())
        assert isinstance(answer.json(), list) == isinstance(value, list)
        assert export(always, answer.json(), "html").status_code == 200
    else:
        assert answer.status_code in (400, 422)
        error_of(answer)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/static/../app.py", 404, "not_found"),
        ("GET", "/static/%2e%2e%2fapp.py", 404, "not_found"),
        ("GET", "/static/nothing.js", 404, "not_found"),
        ("GET", "/api/track", 405, "method_not_allowed"),
        ("DELETE", "/", 405, "method_not_allowed"),
        ("POST", "/api/track", 415, "not_json"),
        ("POST", "/api/export", 415, "not_json"),
        ("POST", "/api/health", 405, "method_not_allowed"),
        ("POST", "/nothing", 404, "not_found"),
    ],
)
def test_wrong_paths_and_methods_have_the_same_error_schema(client, method, path, status, code):
    answer = client.request(method, path)
    assert answer.status_code == status
    assert error_of(answer).code == code


@pytest.mark.parametrize("text", ["mistake", "file"])
def test_internal_errors_reveal_no_details(client, text):
    answer = ask(client, {"text": text, "entities": ["a"]})
    assert answer.status_code == 500
    assert error_of(answer).code == "internal"
    assert SECRET not in answer.text
    assert ask(client, {"text": "Go on.", "entities": ["a"]}).status_code == 200


# Several models


@pytest.fixture
def both():
    """Give a client of a server with two models."""
    trackers = {name: FakeTracker(name=name) for name in ("small", "recipes")}
    signatures = {name: tracker.card.signature for name, tracker in trackers.items()}
    app = build_app(Trackers(signatures, trackers.__getitem__))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def test_auto_uses_the_recipes_model_for_recipes(both):
    documents = [
        {"text": TEXT},
        {"text": RECIPE},
        {"steps": RECIPE.split("\n"), "model": "auto"},
        {"text": TEXT, "model": "recipes"},
        {"text": RECIPE, "model": "small"},
    ]
    grids = ask(both, documents).json()
    expected = ["small|1", "recipes|1", "recipes|1", "recipes|1", "small|1"]
    assert [grid["signature"] for grid in grids] == expected
    assert "model" not in grids[-1]


def test_health_lists_the_models(both):
    health = both.get("/api/health").json()
    assert health["model"] == "small|1"
    assert health["models"] == [
        {"name": "small", "signature": "small|1"},
        {"name": "recipes", "signature": "recipes|1"},
    ]


def test_unknown_models_are_refused(both, client):
    answer = ask(both, [{"text": TEXT}, {"text": TEXT, "model": "/etc"}])
    error = error_of(answer)
    assert (answer.status_code, error.code, error.field) == (422, "unknown_model", "1.model")
    assert error.message == "Model '/etc' is not served. Served: auto, small, recipes."
    error = error_of(ask(client, {"text": TEXT, "model": "recipes"}))
    assert (error.code, error.field) == ("unknown_model", "model")
    assert ask(client, {"text": RECIPE, "model": "fake"}).json()["signature"] == "fake|1"


# Limits


@pytest.mark.parametrize(
    ("value", "code", "field"),
    [
        ([{"text": "a."}] * 3, "documents", None),
        ({"steps": ["a"] * 4}, "steps", "steps"),
        ({"text": "a\nb\nc\nd"}, "steps", "text"),
        ({"text": "Water rises. It cools. It rains. It stops."}, "steps", "text"),
        ({"steps": ["a", "b" * 31]}, "characters", "steps.1"),
        ({"text": f"a\n{'b' * 31}"}, "characters", "text"),
        ({"text": "a " * 41}, "characters", "text"),
        ({"text": "a", "entities": ["a"] * 3}, "entities", "entities"),
        ([{"text": "a"}, {"text": "a", "entities": ["a" * 11]}], "name", "1.entities.0"),
        ({"text": "a", "id": "i" * 11}, "name", "id"),
        ({"text": "a", "model": "m" * 11}, "name", "model"),
    ],
)
def test_requests_beyond_a_limit_are_refused(build, value, code, field):
    client = build(
        documents=2, steps=3, entities=2, characters=80, step_characters=30, name_characters=10
    )
    answer = ask(client, value)
    assert answer.status_code == 422
    error = error_of(answer)
    assert (error.code, error.field) == (f"too_many_{code}", field)
    assert re.search(r"; the limit is \d+\.", error.message)
    fine = {"text": "a\nb\nc", "entities": ["a" * 10, "b"]}
    assert ask(client, [fine, fine]).status_code == 200


def concurrently(tracker, limits, test):
    """Run a test with an application and a client for concurrent requests."""

    async def whole():
        app = build_app(Trackers.single(tracker), Limits(**limits))
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            async with asyncio.timeout(60):
                await test(app, client)

    tracker.gate.clear()
    try:
        asyncio.run(whole())
    finally:
        tracker.gate.set()


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


def send(client, text="Go there."):
    value = {"text": text, "entities": ["a"]}
    return asyncio.ensure_future(client.post("/api/track", json=value))


def test_requests_beyond_the_queue_get_429(tracker):
    async def test(app, client):
        accepted = [send(client) for _ in range(3)]
        await until(lambda: tracker.calls and app.state.workers[0].waiting == 2)
        refused = await asyncio.gather(*(send(client) for _ in range(20)))
        assert {answer.status_code for answer in refused} == {429}
        assert {answer.headers["retry-after"] for answer in refused} == {"1"}
        assert error_of(refused[0]).code == "busy"
        assert app.state.workers[0].waiting == 2
        tracker.gate.set()
        assert [answer.status_code for answer in await asyncio.gather(*accepted)] == [200] * 3
        assert len(tracker.calls) == 3

    concurrently(tracker, {"waiting": 2}, test)


def test_the_page_is_served_while_the_tracker_works(tracker):
    async def test(_app, client):
        waiting = send(client)
        await until(lambda: tracker.calls)
        assert (await client.get("/")).status_code == 200
        exported = await client.post(
            "/api/export?format=tsv", json={"id": "1", "steps": [], "entities": []}
        )
        assert exported.status_code == 200
        tracker.gate.set()
        assert (await waiting).status_code == 200

    concurrently(tracker, {}, test)


def test_too_many_concurrent_requests_get_429(tracker):
    async def test(_app, client):
        waiting = [send(client), send(client)]
        await until(lambda: tracker.calls)
        answer = await client.get("/api/health")
        assert (answer.status_code, error_of(answer).code) == (429, "busy")
        tracker.gate.set()
        await asyncio.gather(*waiting)
        assert (await client.get("/api/health")).status_code == 200

    concurrently(tracker, {"requests": 2}, test)


def test_past_the_time_limit_the_status_is_503_and_the_rest_of_a_list_is_skipped(tracker):
    async def test(_app, client):
        value = [{"text": "Go there.", "entities": ["a"]}] * 3
        answer = await client.post("/api/track", json=value)
        assert (answer.status_code, error_of(answer).code) == (503, "too_slow")
        tracker.gate.set()
        assert (await send(client)).status_code == 200
        assert len(tracker.calls) == 2

    concurrently(tracker, {"seconds": 0.3}, test)


def test_a_stopping_server_answers_queued_requests_with_503(tracker):
    async def test(app, client):
        serving, waiting = send(client), send(client)
        await until(lambda: tracker.calls and app.state.workers[0].waiting == 1)
        for worker in app.state.workers:
            worker.stop()
        answer = await waiting
        assert (answer.status_code, error_of(answer).code) == (503, "stopping")
        assert (await send(client)).status_code == 503
        tracker.gate.set()
        assert (await serving).status_code == 200

    concurrently(tracker, {}, test)


# Export


@pytest.fixture
def grid(client):
    return ask(client, {"id": "rain", "text": TEXT, "entities": ["water"], "explain": True}).json()


def export(client, value, format):
    return client.post(f"/api/export?format={format}", json=value)


@pytest.mark.parametrize(
    ("format", "kind", "start"),
    [
        ("json", "application/json", '{"id": "rain"'),
        ("tsv", "text/tab-separated-values", "rain\t1\twater\tCREATE\t-\tsea\n"),
        ("csv", "text/csv", "paragraph,step,"),
        ("html", "text/html", "<!DOCTYPE html>"),
        ("mermaid", "text/plain", "flowchart"),
        ("dot", "text/vnd.graphviz", "digraph"),
        ("svg", "image/svg+xml", "<svg"),
        ("example", "text/plain", "# [examples] rain\n1. Rain fills the sea."),
        ("json&view=locations", "application/json", '{"id": "rain", "view": "locations"'),
        ("html&view=timeline", "text/html", "<!DOCTYPE html>"),
    ],
)
def test_every_format(client, grid, format, kind, start):
    answer = export(client, grid, format)
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == kind
    assert answer.headers["content-disposition"].startswith('attachment; filename="grid.')
    assert answer.text.startswith(start)
    assert "sea" in answer.text


@pytest.mark.parametrize("view", ["locations", "steps", "timeline", "recipe"])
def test_every_view(client, grid, view):
    (wanted,) = find_views([koala.Grid.from_dict(grid)], view)
    answer = export(client, grid, f"json&view={view}")
    assert answer.json() == json.loads(json.dumps(wanted))
    answer = export(client, grid, f"tsv&view={view}")
    assert answer.status_code == 422
    assert error_of(answer).message == "A view has the formats json, html; 'tsv' came."


def test_an_example_is_read_back_as_gold(client, grid, tmp_path):
    answer = export(client, grid, "example&title=How does it  rain?&topic=weather")
    path = tmp_path / "nature.txt"
    path.write_text(answer.text, "utf-8")
    (written,) = read_file(path)
    assert (written.field, written.topic) == ("nature", "weather")
    assert written.example.procedure.question == "How does it rain?"
    assert written.example.gold.steps == tuple(grid["steps"])
    assert written.example.gold.rows[0].locations == ("-", "sea", "air")
    grid["steps"][0] = "Salt | pepper"
    refused = export(client, grid, "example")
    assert (refused.status_code, error_of(refused).code) == (422, "not_exported")
    assert "separates cells" in error_of(refused).message


def test_reasons_are_exported_only_if_every_cell_has_one(client, grid):
    assert export(client, grid, "json").json() == grid
    assert "water can be found in sea" in export(client, grid, "html").text
    for entity in grid["entities"]:
        del entity["steps"][0]["reason"]
    assert "water can be found in sea" not in export(client, grid, "html").text


def test_several_grids_are_one_file(client, grid):
    lines = export(client, [grid, {**grid, "id": "again"}], "csv").text.splitlines()
    assert [line.split(",")[0] for line in lines] == ["paragraph", *["rain"] * 2, *["again"] * 2]
    answer = export(client, [grid, grid], "svg")
    assert (answer.status_code, error_of(answer).code) == (422, "not_exported")


def test_an_exported_svg_is_self_contained(client, grid):
    grid["entities"][0]["name"] = "a \uffff b"
    root = ElementTree.fromstring(export(client, grid, "svg").text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "--create-fill: #" in root[0].text


@pytest.mark.parametrize("format", ["html", "svg"])
def test_hostile_text_is_escaped_in_exports(client, format):
    steps = [{"step": 1, "action": "CREATE", "before": "-", "after": f"{HOSTILE} location"}]
    entity = {"name": f"{HOSTILE} name", "initial": "-", "steps": steps}
    grid = {"id": HOSTILE, "steps": [HOSTILE], "entities": [entity], "signature": HOSTILE}
    answer = export(client, grid, format)
    assert answer.status_code == 200
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text


@pytest.mark.parametrize("change", [
    {"steps": []},
    {"entities": [{"name": "", "initial": "?", "steps": []}]},
    {"entities": [{"name": "a", "initial": "?", "steps": [
        {"step": 1, "action": "CREATE", "before": "sea", "after": "air"}]}]},
])  # fmt: skip
def test_inconsistent_grids_are_not_exported(client, grid, change):
    answer = export(client, {**grid, **change}, "json")
    assert (answer.status_code, error_of(answer).code) == (422, "not_exported")


def test_unknown_formats_are_refused(client, grid):
    error = error_of(export(client, grid, "pdf"))
    assert error.field == "format"
    assert "'mermaid'" in error.message


# Information about the server


def test_health(client):
    answer = client.get("/api/health").json()
    assert answer == {
        "status": "ok",
        "version": koala.__version__,
        "model": "fake|1",
        "models": [{"name": "fake", "signature": "fake|1"}],
        "waiting": 0,
        "limits": answer["limits"],
    }
    assert answer["limits"]["steps"] == Limits().steps


def test_examples_can_be_tracked_as_they_are(client):
    examples = client.get("/api/examples").json()
    assert [example["name"] for example in examples] == list(list_examples())
    assert len(examples) >= 3
    for example in examples:
        grid = read_example(example["name"])
        answer = ask(client, {"text": example["text"], "entities": example["entities"]}).json()
        assert answer["steps"] == list(grid.steps)
        assert [entity["name"] for entity in answer["entities"]] == list(grid.names)
        assert all(row.problem is None for row in grid.rows)


def test_responses_fit_their_schema(client, grid):
    answers = ask(client, [{"text": TEXT, "explain": True}, {"text": TEXT}]).json()
    TypeAdapter(list[GridValue]).validate_json(json.dumps(answers), strict=True)
    described = set(GridValue.model_json_schema()["properties"])
    assert set(grid) == described - {"warnings"}


def test_the_openapi_description_is_complete(client):
    api = client.get("/openapi.json").json()
    assert set(api["paths"]) == {"/api/track", "/api/export", "/api/health", "/api/examples"}
    names = set(api["components"]["schemas"])
    assert set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(api))) <= names
    for path in ("/api/track", "/api/export"):
        answers = api["paths"][path]["post"]["responses"]
        assert set(answers) == {"200", "400", "408", "413", "415", "422", "429", "500", "503"}
        for status, answer in answers.items():
            if status != "200":
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorValue"}
    assert "HTTPValidationError" not in names


def test_the_guard_knows_every_route_with_a_body(client):
    from koala.web.guard import _READS_JSON

    paths = client.get("/openapi.json").json()["paths"]
    assert {path for path, methods in paths.items() if "post" in methods} == set(_READS_JSON)
