"""The log of a training run."""

import json
from dataclasses import asdict

from koala.training.log import Epoch, add_to_log, describe_epoch, read_log

LINE = Epoch(1, 3.0, 1.0, 1.5, 0.5, 0.6, 0.4, 0.48, seconds=7.4, evaluation_seconds=1.0)


def test_an_epoch_that_runs_again_replaces_its_line_and_those_after_it(tmp_path):
    path = tmp_path / "log.jsonl"
    assert read_log(path) == []
    values = asdict(LINE)
    lines = [Epoch(**{**values, "epoch": n}) for n in (1, 2, 3)]
    for line in lines:
        add_to_log(line, path)
    again = Epoch(**{**values, "epoch": 2, "f1": 0.9})
    add_to_log(again, path)
    assert read_log(path) == [lines[0], again]


def test_logs_of_earlier_versions_are_read(tmp_path):
    values = {k: v for k, v in asdict(LINE).items() if v is not None}
    (tmp_path / "log.jsonl").write_text(
        json.dumps({**values, "dev_places": 1.2, "expected_f1": 0.5})
    )
    (line,) = read_log(tmp_path / "log.jsonl")
    assert (line.location_nll, line.mbr_f1, line.choice) == (1.2, 0.5, 0.5)


def test_the_selected_epoch_has_a_star():
    assert "dev P 0.600 R 0.400 F1 0.480" in describe_epoch(LINE, is_selected=False)
    assert " *  7 s" in describe_epoch(LINE, is_selected=True)
    assert "*" not in describe_epoch(LINE, is_selected=False)
