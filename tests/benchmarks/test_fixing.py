"""Fixing gold cells one at a time, with the bundled model."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import itertools

import fixing

import koala
from koala.corpora.written import read_file
from koala.evaluation.report.runs import KEYS
from koala.grid import Grid, Row

CORPUS = Path(__file__).parents[2] / "corpus"


@pytest.fixture(scope="module")
def example():
    return read_file(CORPUS / "dev" / "wet-lab.txt")[0].example


def test_fixed_cells_are_gold_and_each_grid_has_one_more(example):
    tracker = koala.load()
    grids = list(fixing.fix_and_follow(tracker, example))
    assert [sum(c.is_fixed for row in g.rows for c in row.steps) for g in grids] == list(range(6))
    for number, row in enumerate(grids[-1].rows):
        for step, cell in enumerate(row.steps, 1):
            if cell.is_fixed:
                gold = example.gold.rows[number].locations[step]
                assert cell.after.lower().removeprefix("the ") == gold.lower().removeprefix("the ")


def test_alone_only_the_fixed_cells_differ(example):
    grid = koala.load().track_all([example.procedure])[0]
    grids = list(fixing.fix_alone(grid, example))
    for before, after in itertools.pairwise(grids):
        differing = [
            (a, b)
            for old, new in zip(before.rows, after.rows, strict=True)
            for a, b in zip(old.locations, new.locations, strict=True)
            if a != b
        ]
        assert len(differing) <= 1


def test_runs_are_written_and_not_measured_twice(tmp_path, capsys):
    words = ["--written", str(CORPUS), "--most", "2", "-o", str(tmp_path)]
    fixing.main(words)
    runs = [json.loads(path.read_text()) for path in sorted(tmp_path.iterdir())]
    assert [run["scores"]["fixes"] for run in runs] == [0, 1, 2, 3, 5]
    assert all(run.keys() >= set(KEYS) for run in runs)
    first = runs[0]["scores"]
    assert first["cells_alone"] == first["cells_redecoded"]
    assert runs[-1]["scores"]["cells_alone"] >= first["cells_alone"]
    fixing.main(words)
    assert "already measured" in capsys.readouterr().err


def test_a_run_of_another_network_is_measured_again(tmp_path):
    path = tmp_path / "run.json"
    assert not fixing.is_measured(path, "koala-small|network:1")
    path.write_text(json.dumps({"settings": "koala-small|network:1"}))
    assert fixing.is_measured(path, "koala-small|network:1")
    assert not fixing.is_measured(path, "koala-small|network:2")


def test_document_scores_compare_both_ways_of_fixing():
    def build(*locations):
        row = Row.from_locations("water", locations)
        return {id: Grid(id, ("Pour it.", "Boil it."), (row,)) for id in "abcdef"}

    gold, staying = build("?", "pot", "-"), build("?", "?", "?")
    found = fixing.score_documents(gold, staying, gold)
    assert found["document_redecoded"] == 100
    assert found["difference"] == 100 - found["document_alone"] > 0
    # All paragraphs are alike, so every bootstrap sample is.
    assert found["low"] == found["high"] == found["difference"]
