"""Runs are made again by their own commands."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import renew_runs


def test_commands_find_data_and_scratch_files():
    commands = renew_runs.Commands(Path("/data"), Path("/scratch"))
    predict = "koala predict --corpus written --input corpus/test --model base -o given.jsonl"
    assert commands.translate(predict) == [
        sys.executable, "-m", "koala", "predict", "--corpus", "written", "--input", "corpus/test",
        "--model", "base", "-o", "/scratch/given.jsonl",
    ]  # fmt: skip
    evaluate = "koala evaluate results/a.dev.tsv --gold DATA/propara/answers.tsv"
    assert commands.translate(evaluate)[3:] == [
        "evaluate", "results/a.dev.tsv", "--gold", "/data/propara/answers.tsv", "--json",
    ]  # fmt: skip
    errors = "KOALA_DATA=DATA python benchmarks/errors.py results/a.dev.tsv"
    assert commands.translate(errors) == [
        sys.executable, "benchmarks/errors.py", "results/a.dev.tsv", "--json",
    ]  # fmt: skip


def test_the_test_split_is_predicted_as_dev_is():
    command = "koala predict --sentences DATA/dev/s.tsv --decoding mbr -o predictions/a.dev.tsv"
    assert renew_runs.to_test(["koala evaluate a.tsv", command]) == (
        "koala predict --sentences DATA/test/s.tsv --decoding mbr -o predictions/a.test.tsv"
    )


class Recorded:
    """Answers commands from a table, and remembers what was asked."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def run(self, command):
        self.asked.append(command)
        return self.answers.get(command, "")


def test_a_run_is_scored_by_its_own_commands_without_training():
    predict = "koala predict --input corpus/test -o given.jsonl"
    evaluate = "koala evaluate given.jsonl --gold corpus/test"
    run = {
        "group": "corpus-test", "model": "koala-base", "scores": {"old": 1},
        "command": ["koala train base.toml", predict, evaluate],
    }  # fmt: skip
    commands = Recorded({evaluate: '{"document": {"overall": {"f1": 0.5}}, "signature": "new"}'})
    renew_runs.renew(run, commands, card={"signature": "koala-base|network:1"})
    assert commands.asked == [predict, evaluate]
    assert run["scores"] == {"document_f1": 50.0}
    assert run["signature"] == "new"


def test_calibration_comes_from_the_card():
    card = {
        "signature": "koala-base|network:1",
        "scores": {
            "signature": "dev", "calibration_error": 0.10649,
            "calibration_error_without_temperatures": 0.2,
        },
    }  # fmt: skip
    run = {"group": "calibration", "network": "koala-base|network:0", "command": []}
    renew_runs.renew(run, Recorded({}), card)
    assert run["scores"] == {"error": 0.106, "error_unscaled": 0.2}
    assert run["network"] == "koala-base|network:1"


def test_speed_is_that_of_the_benchmark():
    command = "KOALA_DATA=DATA python benchmarks/tracking.py --model base"
    printed = {
        "model": "koala-base|network:12ab|koala:1", "paragraphs": 43,
        "paragraphs_per_second": {"onnx": 20.0, "floor": 30.0},
        "times_the_floor": {"onnx": 1.5, "floor": 1.0},
        "seconds_for_all": {"text to grid": 8.6}, "start_to_first_grid_seconds": 3.1,
        "peak_memory_mb": 500,
    }  # fmt: skip
    run = {"group": "speed", "network": "old", "command": [command]}
    recorded = Recorded({command: json.dumps(printed)})
    renew_runs.renew(run, recorded, card={"signature": "koala-base|network:12ab|koala:1"})
    assert run["scores"] == {
        "paragraphs_per_second": 5.0, "network_paragraphs_per_second": 20.0,
        "times_the_floor": 1.5, "start_seconds": 3.1, "memory_mb": 500,
    }  # fmt: skip
    assert run["network"] == "12ab"


@pytest.mark.parametrize("model", ["koala-base", "koala-small"])
def test_every_shipped_model_has_runs_to_renew(model):
    names = {path.stem for path in renew_runs.RUNS.glob(f"*{model}*.json")}
    assert {f"propara-{model}-mbr", f"propara-{model}-viterbi", f"corpus-test-{model}"} <= names
