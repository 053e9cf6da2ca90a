"""`koala track --fix` and `--view`, with the bundled model."""

import json

import pytest

TEXT = b"Fill the kettle with water.\nPut the kettle on the stove.\nPour the water into the cup."


def test_a_fixed_cell_is_in_the_grid(koala):
    done = koala("track", "-", "--entity", "water", "--fix", "water@2=stove", "--format", "json",
                 stdin=TEXT)  # fmt: skip
    assert done.returncode == 0, done.stderr
    step = json.loads(done.stdout)["entities"][0]["steps"][1]
    assert (step["after"], step["fixed"], step["confidence"]) == ("stove", True, 1.0)


@pytest.mark.parametrize("view", ["locations", "steps", "timeline", "recipe"])
def test_views_are_printed(koala, view):
    for format in ("table", "json", "html"):
        done = koala("track", "-", "--entity", "water", "--view", view, "--format", format,
                     stdin=TEXT)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--fix", "water in the pot"), "ENTITY@STEP=LOCATION"),
        (("--fix", "water@9=cup"), "steps 1 to 3"),
        (("--fix", "water@2=cup", "--fix", "water@2=-"), "fixed twice"),
        (("--view", "steps", "--explain"), "cannot be combined"),
        (("--view", "steps", "--format", "dot"), "table, json, html"),
    ],
)
def test_mistakes_are_told(koala, words, problem):
    done = koala("track", "-", "--entity", "water", *words, stdin=TEXT)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
