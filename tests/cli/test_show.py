import csv
import json

import pytest
import typer

from koala.cli import app
from koala.corpora.leaderboard import read_predictions


def test_the_bundled_example_is_shown(koala):
    done = koala("show")
    assert done.returncode == 0
    for word in ("water", "reservoir", "compost bin", "You pour cold water"):
        assert word in done.stdout


def test_every_format_of_the_example(koala):
    value = json.loads(koala("show", "--format", "json").stdout)
    assert next(entity["name"] for entity in value["entities"]) == "water"
    rows = list(csv.reader(koala("show", "--format", "csv").stdout.splitlines()))
    assert rows[0] == ["paragraph", "step", "participant", "action", "before", "after"]
    assert len(rows) == 1 + 4 * 7
    tsv = koala("show", "--format", "tsv").stdout
    assert [line.split("\t") for line in tsv.splitlines()] == rows[1:]
    page = koala("show", "--format", "html").stdout
    assert page.lower().startswith("<!doctype html>")
    assert "<svg" in page
    assert koala("show", "--format", "mermaid").stdout.startswith("flowchart TB\n")
    assert koala("show", "--format", "dot").stdout.startswith("digraph {\n")


def test_a_file_of_grids(koala, propara, tmp_path):
    answers = propara / "leaderboard" / "dev" / "answers.tsv"
    sentences = propara / "leaderboard" / "dev" / "sentences.tsv"
    done = koala("show", answers, "--sentences", sentences, "--id", "4")
    assert "Bacteria is buried in the sediment." in done.stdout
    out = tmp_path / "again.tsv"
    done = koala("show", answers, "--format", "tsv", "-o", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert read_predictions(out) == read_predictions(answers)


def test_csv_of_several_grids_has_one_header(koala, propara):
    answers = propara / "leaderboard" / "dev" / "answers.tsv"
    lines = koala("show", answers, "--format", "csv").stdout.splitlines()
    assert len(lines) == 1 + 1204


def test_graphs_of_several_grids_are_one_file(koala, propara):
    answers = propara / "leaderboard" / "dev" / "answers.tsv"
    words = ("show", answers, "--id", "4", "--id", "5")
    assert koala(*words, "--format", "mermaid").stdout.count("    subgraph g") == 2
    assert koala(*words, "--format", "dot").stdout.count("    subgraph cluster_g") == 2


def test_entities_with_the_same_name_are_kept_apart(koala, propara):
    answers = propara / "leaderboard" / "train" / "answers.tsv"
    out = koala("show", answers, "--format", "tsv", "--id", "1151").stdout
    assert sorted(out.splitlines()) == sorted(
        line for line in answers.read_text().splitlines() if line.startswith("1151\t")
    )


def test_stdout_is_utf8_even_if_python_is_told_otherwise(koala_process, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    assert "→" in koala_process("show").stdout


@pytest.mark.parametrize(
    "words", [("show", "--format", "tsv"), ("show", "none.tsv"), ("--version",)]
)
def test_a_separate_process_prints_the_same(koala, koala_process, words):
    here, there = koala(*words), koala_process(*words)
    assert (here.returncode, here.stdout) == (there.returncode, there.stdout)
    assert here.stderr == there.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--sentences", "none.tsv"), "no FILE was given"),
        (("-o", "/"), "this is a folder"),
        (("--id", "nothing"), "It has: How a coffee maker brews"),
        (("none.tsv",), "no such file"),
        (("--format", "pdf"), "pdf"),
        (("-o", "no/such/folder/x.html"), "its folder is missing"),
    ],
)
def test_wrong_calls(koala, words, problem):
    done = koala("show", *words)
    assert done.returncode == 2
    assert problem in done.stderr


def test_input_files_are_not_overwritten(koala, tmp_path):
    path, sentences = tmp_path / "grids.tsv", tmp_path / "sentences.tsv"
    path.write_text("4\t1\toil\tNONE\t-\t-\n")
    sentences.write_text("4\t1\tOil flows.\n")
    before = path.read_bytes(), sentences.read_bytes()
    for output in (path, sentences):
        done = koala("show", path, "--sentences", sentences, "--format", "json", "-o", output)
        assert done.returncode == 2
        assert "would overwrite an input" in done.stderr
    assert (path.read_bytes(), sentences.read_bytes()) == before


def test_version(koala):
    assert koala("--version").stdout.strip()


def list_commands(command, words=()):
    """Give the words of every command and group, hidden ones left out."""
    found = [words]
    for name, each in getattr(command, "commands", {}).items():
        if not each.hidden:
            found += list_commands(each, (*words, name))
    return found


@pytest.mark.parametrize("words", list_commands(typer.main.get_command(app)))
def test_every_help_has_an_example(koala, words):
    done = koala(*words, "--help")
    assert done.returncode == 0
    _, found, example = done.stdout.rpartition("Example: ")
    assert found
    assert all(word in example for word in ("koala", *words))
