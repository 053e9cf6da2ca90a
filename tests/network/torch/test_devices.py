"""A model creates all its tensors on its own device.

The test needs no GPU: the default device is `meta`, so a tensor created without naming a device
lands there, and operations with the model's tensors fail.
"""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from koala.network.torch.koala import build_model  # noqa: E402
from koala.training.attention_analysis import measure_attention  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.ema import EMA  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402
from koala.training.loss import build_targets, compute_losses  # noqa: E402

from ... import tiny  # noqa: E402


@pytest.fixture(scope="module")
def items(settings):
    return build_training_data(tiny.build_corpus(), settings).train


FROZEN = {"n_shared_layers": 1, "n_frozen_layers": 1}


@pytest.mark.parametrize(
    ("encoder", "knowledge", "decoder", "loss"),
    [
        ({}, {}, {}, {}),
        ({"is_frozen": True, "layers": "mixture"}, {"has_attention": False}, {}, {}),
        ({"entity": "marked", **FROZEN}, {"encoder": "shared"}, {"reads": "steps"}, {}),
        (
            {"entity": "marked"},
            {"integration": "concatenation", "is_frozen": False},
            {"locations": "scorer", "has_entity_attention": True, "has_legal_crf": True},
            {"attention_form": "paper", "has_initial_location": False},
        ),
        ({}, {"is_used": False}, {"locations": "scorer", "reads": "steps"}, {}),
    ],
)
def test_every_tensor_is_created_on_the_device_of_the_model(
    settings, items, encoder, knowledge, decoder, loss
):
    settings = replace(
        settings,
        encoder=replace(settings.encoder, **encoder),
        knowledge=replace(settings.knowledge, **knowledge),
        decoder=replace(settings.decoder, **decoder),
        loss=replace(settings.loss, **loss),
    )
    model, batcher = build_model(settings), build_batcher(settings)
    batch, targets = batcher.build(items), build_targets(items)
    average = EMA(model, 0.9)
    with torch.device("meta"):
        assert torch.zeros(1).is_meta
        losses = compute_losses(model(batch), targets, model.crf, settings.loss)
        losses.total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        average.update()
        with average.in_use():
            model.predict(batch)
        measure_attention(model, batcher, items)
    assert losses.total.isfinite()
