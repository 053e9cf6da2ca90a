import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from koala.decoding.mbr.consistency import FEATURES
from koala.grid import Grid, Row
from koala.inference.calibration import Calibration, read_calibration
from koala.training.rerankers import (
    HeldOut,
    fit_calibration,
    fit_consistency,
    number_locations,
    score_run,
)
from koala.training.run import DataSource, train

from .. import tiny


@pytest.fixture(scope="module")
def corpus():
    return tiny.build_corpus()


@pytest.fixture(scope="module")
def run(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("rerankers")
    settings = tiny.build_settings(tiny.build_encoder(folder / "encoder"), None)
    settings = replace(settings, training=replace(settings.training, epochs=1))
    train(settings, DataSource(corpus), folder / "run")
    return folder / "run"


def test_the_calibration_of_a_run_can_be_written_and_read(run, corpus, tmp_path):
    calibration = fit_calibration([run], corpus)
    assert set(calibration.consistency) == set(FEATURES)
    (reranker,) = calibration.rerankers.values()
    assert np.isfinite(list(reranker.to_dict().values())).all()
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(calibration.to_dict()))
    assert read_calibration(path) == calibration


def test_consistency_weights_prefer_the_behaviour_of_gold_grids(run, corpus):
    """In these gold grids all entities move in every step, so moving gets a positive weight."""
    found = []
    for each in score_run(run, corpus):
        n = len(each.gold.steps)
        locations = [f"location {number}" for number in range(n + 1)]
        rows = tuple(Row.from_locations(row.name, locations) for row in each.gold.rows)
        found.append(HeldOut(each.scored, Grid(each.gold.id, each.gold.steps, rows)))
    weights = fit_consistency(found, Calibration())
    assert weights["moved"] > 0 > weights["steps that do nothing"]


def test_locations_are_numbered_by_name():
    rows = (Row.from_locations("a", ["-", "x", "?"]), Row.from_locations("b", ["x", "x", "y"]))
    numbers = number_locations(Grid("1", ("s", "t"), rows))
    assert numbers.tolist() == [[[-1, 2, 0], [2, 2, 3]]]
