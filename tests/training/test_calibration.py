import numpy as np
import pytest

torch = pytest.importorskip("torch")

from koala.grid import Grid, Row  # noqa: E402
from koala.inference.scoring import NetworkScorer, score_all  # noqa: E402
from koala.training.calibration import find_temperatures, measure_calibration  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import Training, build_batcher  # noqa: E402

from .. import tiny  # noqa: E402


def grid_of(confidences, locations):
    return Grid("1", ("a",) * len(confidences), (Row.from_locations("x", locations, confidences),))


def test_the_calibration_error_is_the_gap_between_confidence_and_accuracy():
    gold = {"1": grid_of([1.0] * 4, ["a", "b", "b", "b", "b"])}
    # Confidence 0.9 in all four steps, three of them right.
    overconfident = grid_of([0.9] * 4, ["a", "b", "b", "b", "c"])
    assert measure_calibration([overconfident], gold) == pytest.approx(0.15)
    perfect = grid_of([1.0] * 4, ["a", "b", "b", "b", "b"])
    assert measure_calibration([perfect], gold) == 0
    # Overconfident and underconfident bins do not cancel out.
    mixed = grid_of([0.55, 0.55, 0.95, 0.95], ["a", "b", "b", "b", "c"])
    assert measure_calibration([mixed], gold) == pytest.approx((2 * 0.45 + 2 * 0.45) / 4)


def test_an_overconfident_network_gets_a_higher_temperature(tmp_path):
    settings = tiny.build_settings(tiny.build_encoder(tmp_path / "encoder"), None)
    data = build_training_data(tiny.build_corpus(), settings)
    training = Training(settings, data, tmp_path / "run")
    batcher = build_batcher(settings)

    def predict_overconfidently(batch):
        return training.model.predict(batch).with_temperatures(0.05, 0.05)

    found = find_temperatures(score_all(NetworkScorer(predict_overconfidently, batcher), data.dev))
    plain = find_temperatures(score_all(training.scorer, data.dev))
    assert found[1] > plain[1]


def test_temperature_scaling_keeps_the_best_location(tmp_path):
    settings = tiny.build_settings(tiny.build_encoder(tmp_path / "encoder"), None)
    data = build_training_data(tiny.build_corpus(), settings)
    training = Training(settings, data, tmp_path / "run")
    output = training.model.predict(build_batcher(settings).build(data.dev))
    calibrated = output.with_temperatures(3.0, 2.0)
    assert (calibrated.locations.argmax(-1) == output.locations.argmax(-1)).all()
    np.testing.assert_allclose(calibrated.tags * 3, output.tags, rtol=1e-5)
