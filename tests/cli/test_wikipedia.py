"""Outputs that are refused before any file is read; see also tests/pretraining/wikipedia."""

import json

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    value = {"name": "butter", "sentences": ["melt the butter ."], "participants": ["butter"]}
    (tmp_path / "recipes" / "train.jsonl").write_text(json.dumps(value))
    (tmp_path / "a.tsv").write_text("Butter\tMelt butter.\n")
    (tmp_path / "b.tsv").write_text("no tab\n")
    return tmp_path


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("a.tsv", "would overwrite an input (a.tsv)"),
        ("b.tsv", "would overwrite an input (b.tsv)"),
        ("recipes/train.jsonl", "would overwrite an input (recipes)"),
        ("recipes", "this is a folder"),
        ("none/out.jsonl", "its folder is missing"),
    ],
)
def test_outputs_are_checked_first(koala, folder, output, problem):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    words = ("--queries", "recipes", "--corpus", "a.tsv", "b.tsv", "-o", output)
    done = koala("wikipedia", "retrieve", *words)
    assert done.returncode == 2
    assert problem in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
