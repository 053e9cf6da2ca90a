"""The command `koala wikipedia retrieve`."""

import json

import pytest
from typer.testing import CliRunner

from koala.cli.wikipedia import app
from koala.errors import FileError

FILLER = [f"Title {n}\tsome wholly different text{n}" for n in range(8)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "recipes").mkdir()
    for split, text in (("train", "melt the butter ."), ("test", "whisk two eggs .")):
        value = {"name": split, "sentences": [text], "participants": ["it"]}
        (tmp_path / "recipes" / f"{split}.jsonl").write_text(json.dumps(value), "utf-8")
    lines = ["Butter\tButter melts in a pan: melt butter gently.", *FILLER]
    (tmp_path / "a.tsv").write_text("\n".join(lines), "utf-8")
    (tmp_path / "b.tsv").write_text("Eggs\tWhisk the eggs — é.\n", "utf-8")
    return tmp_path


def retrieve(folder, *words):
    start = ["retrieve", "--queries", str(folder / "recipes"), "--least-words", "1"]
    return CliRunner().invoke(app, [*start, *map(str, words)])


def test_queries_are_all_splits_and_all_files_are_read(folder):
    a, b, output = folder / "a.tsv", folder / "b.tsv", folder / "out.jsonl"
    for files in (("--corpus", a, b), ("--corpus", a, "--corpus", b)):
        done = retrieve(folder, *files, "-k", 5, "-o", output)
        assert done.exit_code == 0, done.output
        assert "2 procedures, 2 different paragraphs." in done.stderr
        found = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
        assert [(one["query"], one["rank"], one["title"]) for one in found] == [
            ("train", 1, "Butter"),
            ("test", 1, "Eggs"),
        ]
        assert list(found[1]) == ["query", "rank", "score", "title", "text"]
        assert found[1]["text"] == "Whisk the eggs — é."


def test_stdout_has_only_data(folder):
    done = retrieve(folder, "--corpus", folder / "a.tsv")
    assert [json.loads(line)["title"] for line in done.stdout.splitlines()] == ["Butter"]


def test_a_failure_keeps_the_old_output(folder):
    output = folder / "out.jsonl"
    output.write_text("old")
    (folder / "a.tsv").write_text("no tab")
    done = retrieve(folder, "--corpus", folder / "a.tsv", "-o", output)
    assert isinstance(done.exception, FileError)
    assert output.read_text() == "old"
    assert {path.name for path in folder.iterdir()} == {"a.tsv", "b.tsv", "out.jsonl", "recipes"}


def test_a_missing_output_folder_is_reported_before_reading(folder):
    done = retrieve(folder, "--corpus", "never-read.tsv", "-o", folder / "none" / "out.jsonl")
    assert "its folder is missing" in str(done.exception)


def test_the_help_names_the_queries_and_has_an_example():
    done = CliRunner().invoke(app, ["retrieve", "--help"], env={"COLUMNS": "200"})
    assert "questions, entities and gold grids are not used" in " ".join(done.output.split())
    assert "Example: koala wikipedia retrieve" in done.output
