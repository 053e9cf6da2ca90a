"""The paper's own settings file, tried with tiny random encoders."""

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from koala.settings import read_settings  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import Training  # noqa: E402

from .. import tiny  # noqa: E402

PAPER = Path(__file__).parents[2] / "configs" / "paper" / "propara" / "koala-bert.toml"


@pytest.fixture
def settings(tmp_path):
    encoder = str(tiny.build_encoder(tmp_path / "encoder"))
    paper = read_settings(PAPER)
    return replace(
        paper,
        encoder=replace(paper.encoder, name=encoder, weights=None),
        knowledge=replace(
            paper.knowledge, encoder=encoder, weights=None, store=str(tiny.build_store(tmp_path))
        ),
        training=replace(paper.training, epochs=1),
    )


def test_every_weight_learns_at_one_constant_rate(settings, tmp_path):
    data = build_training_data(tiny.build_corpus(), settings)
    training = Training(settings, data, tmp_path / "run")
    before = {name: value.clone() for name, value in training.model.named_parameters()}
    assert [group["lr"] for group in training.optimizer.param_groups] == [3e-5]
    training.run()
    assert [group["lr"] for group in training.optimizer.param_groups] == [3e-5]
    for encoder in ("text_encoder.transformer", "triple_encoder.transformer"):
        names = [name for name in before if name.startswith(f"{encoder}.encoder.layer.0")]
        now = dict(training.model.named_parameters())
        assert any(not torch.equal(before[name], now[name]) for name in names), encoder


def test_dropout_is_where_the_published_code_has_it(settings, tmp_path):
    data = build_training_data(tiny.build_corpus(), settings)
    model = Training(settings, data, tmp_path / "run").model
    rates = {
        name: module.p
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Dropout) and ".transformer." not in name
    }
    wanted = {
        "text_encoder.dropout",
        "states.dropout",
        "locations.dropout",
        "states.injector.dropout",
        "locations.injector.dropout",
        "triple_encoder.dropout",
        "triple_encoder.state_dropout",
    }
    assert {name for name, rate in rates.items() if rate == 0.4} == wanted
