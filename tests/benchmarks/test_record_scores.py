"""Scores of `koala evaluate --json` become those of a run."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import record_scores


def test_official_scores(data):
    path = data / "propara" / "evaluator-cases" / "meet" / "official-scores.json"
    found = record_scores.read_scores(json.loads(path.read_text()), "propara")
    # The published dev scores of MeeT.
    assert (found["precision"], found["recall"], found["f1"]) == (77.3, 71.1, 74.1)
    assert found["cat1"] == pytest.approx(81.22)
    assert "difference" not in found


def test_changes_and_fields():
    score = {
        "changes": {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "interval": [0.5, 0.75]},
        "changes_with_location": {
            "precision": 0.5, "recall": 0.25, "f1": 1 / 3, "interval": [0.25, 0.5],
        },
        "cells": 0.625,
    }  # fmt: skip
    found = {"changes": {"overall": score, "fields": {"kitchen": score}}, "signature": "s"}
    scores = record_scores.read_scores(found, "corpus-test")
    assert (scores["located_f1"], scores["low"], scores["high"]) == (0.3333, 0.25, 0.5)
    assert scores["cells"] == 62.5
    assert record_scores.read_fields(found) == {"kitchen": 0.33}


def test_a_run_is_rewritten(tmp_path):
    run, scores = tmp_path / "run.json", tmp_path / "scores.json"
    run.write_text(json.dumps({"name": "a", "group": "corpus-test", "scores": {"old": 1}}))
    overall = {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    scores.write_text(json.dumps({"document": {"overall": overall}, "signature": "new"}))
    sys.argv = ["record_scores.py", str(run), str(scores), "--commit", "abc"]
    record_scores.main()
    written = json.loads(run.read_text())
    assert written["scores"] == {"document_f1": 50.0}
    assert (written["signature"], written["commit"]) == ("new", "abc")
