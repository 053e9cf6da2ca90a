import json

import pytest
from typer.testing import CliRunner

from koala.bundled.examples import read_example
from koala.cli import app
from koala.errors import KoalaError

from ..display.anything import RAIN, TRIPLES, explain

TEXT = "# Rain\n\n1. Water rises.\n2. A cloud forms.\n3. It rains.\n"
RECIPE = "Beat the eggs with sugar.\nPour the batter into a pan.\nBake it in the oven.\n"


class FakeTracker:
    """Returns a fixed grid, and records its calls."""

    def __init__(self):
        self.calls = []
        self.questions = []

    def track(self, text, entities=None, *, find=False, id="text", question="", fixed=None):  # noqa: ARG002
        self.calls.append((text, entities, find, id))
        self.questions.append(question)
        return RAIN

    def find_unmentioned(self, _text, entities):
        return [name for name in entities if name == "unicorn"]

    def explain(self, text, entities=None, *, find=False, id="text", question="", fixed=None):  # noqa: ARG002
        self.calls.append((text, entities, find, id))
        self.questions.append(question)
        return explain(RAIN, TRIPLES)


@pytest.fixture
def tracker():
    return FakeTracker()


@pytest.fixture
def models():
    """Names of the models that were loaded."""
    return []


@pytest.fixture
def track(tracker, models, tmp_path, monkeypatch):
    """Run `koala track FILE …` in this process, with a fake tracker."""

    def open_trackers(names, **_):
        models.extend(names)
        return tracker

    monkeypatch.setattr("koala.registry.load", open_trackers)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str, text: str | None = TEXT):
        path = tmp_path / "rain.txt"
        if text is not None:
            path.write_text(text, encoding="utf-8")
            words = (str(path), *words)
        done = CliRunner().invoke(app, ["track", *words])
        if isinstance(done.exception, KoalaError):
            return str(done.exception)
        assert done.exit_code == 0, done.output
        return done

    return run


@pytest.mark.parametrize(
    ("words", "entities", "find"),
    [
        ((), None, False),
        (("--entity", "water", "--entity", "plant; plants"), ["water", "plant; plants"], False),
        (("--entity", "water", "--find"), ["water"], True),
        (("--find",), None, True),
        (("--explain",), None, False),
        (("--explain", "--entity", "water", "--find"), ["water"], True),
    ],
)
def test_entities_are_named_or_found_or_both(track, tracker, words, entities, find):
    track(*words)
    assert tracker.calls == [(TEXT, entities, find, "rain")]


def test_the_question_is_passed_on(track, tracker):
    track()
    track("--question", "How does it rain?")
    track("--prompt", "How does it rain?", "--explain")
    assert tracker.questions == ["", "How does it rain?", "How does it rain?"]


def test_the_example_is_tracked_like_any_text(track, tracker):
    track(text=None)
    example = read_example()
    assert tracker.calls == [("\n".join(example.steps), None, False, example.id)]


def test_every_format(track, tmp_path):
    assert "→ air" in track().stdout
    assert json.loads(track("--format", "json").stdout) == RAIN.to_dict()
    assert track("--format", "tsv").stdout == RAIN.to_tsv()
    assert track("--format", "csv").stdout == RAIN.to_csv()
    assert track("--format", "html").stdout.startswith("<!DOCTYPE html>")
    assert track("--format", "mermaid").stdout.startswith("flowchart TB\n")
    assert track("--format", "dot").stdout.startswith("digraph {\n")
    out = tmp_path / "rain.mmd"
    done = track("--format", "mermaid", "-o", str(out))
    assert (done.stdout, done.stderr) == ("", f"Wrote {out}.\n")
    assert out.read_text().startswith("flowchart TB\n")


def test_reasons_in_every_format_that_can_hold_them(track, tmp_path):
    reason = "Step 1, water: moved from sea to air, 93% sure; or stays where it is, 20%."
    assert reason in track("--explain").stdout
    assert reason not in track().stdout
    value = json.loads(track("--explain", "--format", "json").stdout)
    assert value == explain(RAIN, TRIPLES).to_dict()
    page = track("--explain", "--format", "html").stdout
    assert "What was read for water" in page
    out = tmp_path / "reasons.txt"
    track("--explain", "-o", str(out))
    assert "Most attended: water can be found in sea, 62%" in " ".join(out.read_text().split())


def test_the_input_file_is_not_overwritten(track, tracker, models, tmp_path):
    message = track("-o", str(tmp_path / "rain.txt"))
    assert "would overwrite an input" in message
    assert (tmp_path / "rain.txt").read_text() == TEXT
    assert tracker.calls == models == []


def test_a_file_name_that_is_not_unicode(track, tracker, tmp_path):
    path = tmp_path / "caf\udce9.txt"
    path.write_text(TEXT)
    track(str(path), text=None)
    assert tracker.calls == [(TEXT, None, False, "caf\ufffd")]


@pytest.mark.parametrize("format", ["tsv", "csv", "mermaid", "dot"])
def test_reasons_are_refused_in_formats_that_cannot_hold_them(track, tracker, format):
    message = track("--explain", "--format", format)
    assert message == (
        f"--explain does not work with --format {format}, which cannot hold reasons. Formats that "
        "can: table, json, html."
    )
    assert tracker.calls == []


def test_an_entity_that_the_text_never_names_is_tracked_with_a_warning(track):
    done = track("--format", "json", "--entity", "water", "--entity", "unicorn")
    assert done.stderr == "Warning: the text never names unicorn.\n"
    assert json.loads(done.stdout) == RAIN.to_dict()


def test_other_languages_are_tracked_with_a_warning(track):
    done = track("--format", "json", text="Das Wasser fließt in die Wurzel.\nEs steigt zum Blatt.")
    assert "does not look like English" in done.stderr
    assert json.loads(done.stdout) == RAIN.to_dict()
    assert track().stderr == ""


@pytest.mark.parametrize(
    ("words", "text", "wanted"),
    [
        ((), RECIPE, ["recipes"]),
        ((), TEXT, ["small"]),
        (("--model", "auto"), RECIPE, ["recipes"]),
        (("--model", "auto"), TEXT, ["small"]),
        (("--model", "recipes"), TEXT, ["recipes"]),
        (("--model", "base", "--model", "small"), TEXT, ["base", "small"]),
    ],
)
def test_models_are_named_or_chosen_by_the_text(track, models, words, text, wanted):
    done = track(*words, text=text)
    assert models == wanted
    is_chosen = wanted == ["recipes"] and "recipes" not in words
    message = "The text looks like a recipe"
    assert done.stderr.startswith(message) if is_chosen else done.stderr == ""


def test_auto_cannot_be_combined_with_other_models(track):
    assert "chooses one model" in track("--model", "auto", "--model", "base")


def test_the_real_tracker(koala):
    text = b"Roots absorb water from the soil. The water flows to the leaf."
    words = ("track", "-", "--entity", "water", "--explain", "--format", "json")
    done = koala(*words, stdin=text)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["id"] == "stdin"
    (water,) = value["entities"]
    reason = water["steps"][1]["reason"]
    assert sum(reason["actions"].values()) == pytest.approx(1, abs=1e-5)
    start, end = reason["mentions"][0]
    assert value["steps"][1][start:end] == "water"


@pytest.mark.parametrize(
    ("words", "stdin", "problem"),
    [
        (("-", "--entity", "water"), b"", "empty"),
        (("-", "--entity", " "), b"Water falls.", "name is empty"),
        (("none.txt",), b"", "no such file"),
        (("-", "--entity", "water", "--model", "none"), b"Water falls.", "none"),
        (("-", "--entity", "water", "--explain", "--format", "dot"), b"Water falls.", "reasons"),
        (("-", "--entity", "water", "-o", "no/such/x.html"), b"Water falls.", "folder is missing"),
        (
            ("-", "--entity", "water", "-o", ""),
            b"Water falls.",
            "name of the file to write is empty",
        ),
        (("-", "--entity", "wat\udce9r"), b"Water falls.", "is not Unicode text"),
    ],
)
def test_wrong_calls(koala, words, stdin, problem):
    done = koala("track", *words, stdin=stdin)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
