"""`koala models`, and bundled models by name."""

import json
from pathlib import Path

import pytest

from koala.errors import KoalaError
from koala.network.card import read_card
from koala.registry import find_model, load


def test_models_are_listed_with_the_corpus_of_their_scores(koala):
    done = koala("models", "--json")
    assert done.returncode == 0, done.stderr
    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert {name: each["measured_on"] for name, each in found.items()} == {
        "base": "propara",
        "small": "propara",
        "recipes": "recipes",
    }
    assert found["small"]["size_mb"] <= 40
    lines = koala("models").stdout.splitlines()
    assert any("recipes" in line for line in lines)
    # Signatures are not wrapped, however narrow the terminal is.
    assert {each["signature"] for each in found.values()} <= set(lines)


def test_export_refuses_stdout(koala):
    done = koala("export", "run", "-o", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot go to stdout" in done.stderr


@pytest.mark.parametrize("name", ["recipes", "koala-recipes"])
def test_a_folder_of_the_same_name_does_not_hide_a_bundled_model(name, tmp_path, monkeypatch):
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert load(name).card == read_card(find_model("recipes"))
    # Any other folder without a card is taken for a run.
    Path("mine").mkdir()
    with pytest.raises(KoalaError, match="no such checkpoint"):
        load("mine")
