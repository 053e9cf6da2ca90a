from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from koala.network.torch.koala import build_model  # noqa: E402
from koala.network.torch.precision import computing_in  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402
from koala.training.loss import build_targets, compute_losses  # noqa: E402

from ... import tiny  # noqa: E402

CPU = torch.device("cpu")


def test_float32_changes_nothing_and_bfloat16_rounds():
    inputs, weights = torch.randn(3, 4), torch.randn(5, 4)
    exact = functional.linear(inputs, weights)
    with computing_in("float32", CPU):
        assert torch.equal(functional.linear(inputs, weights), exact)
    with computing_in("bfloat16", CPU):
        rounded = functional.linear(inputs, weights)
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, atol=0.05, rtol=0.02)
    assert functional.linear(inputs, weights).dtype == torch.float32


ENCODERS = {
    "as in the paper": {},
    "marked": {"entity": "marked", "n_shared_layers": 1},
    "upper layers learn": {"layers": "mixture", "n_frozen_layers": 1},
}


@pytest.fixture(params=ENCODERS, ids=list(ENCODERS))
def both(request, settings):
    """Settings in float32 and in bfloat16."""
    encoder = replace(settings.encoder, **ENCODERS[request.param], dropout=0.0)
    exact = replace(settings, encoder=encoder)
    training = replace(settings.training, precision="bfloat16")
    return exact, replace(exact, training=training)


@pytest.fixture(scope="module")
def items(settings):
    return build_training_data(tiny.build_corpus(), settings).train


def find_gradients(settings, items):
    torch.manual_seed(0)
    model = build_model(settings)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.train()
    output = model(build_batcher(settings).build(items))
    compute_losses(output, build_targets(items), model.crf, settings.loss).total.backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def test_gradients_differ_from_float32_only_by_rounding(both, items):
    exact, rounded = (find_gradients(settings, items) for settings in both)
    assert exact.keys() == rounded.keys()
    assert all(gradient.dtype == torch.float32 for gradient in rounded.values())
    flat = [torch.cat([g.flatten() for g in found.values()]) for found in (exact, rounded)]
    assert not torch.equal(*flat)
    assert functional.cosine_similarity(*flat, dim=0) > 0.99


def test_scoring_is_in_float32(both, items):
    outputs = []
    for settings in both:
        torch.manual_seed(0)
        model = build_model(settings)
        outputs.append(model.predict(build_batcher(settings).build(items)))
    assert (outputs[0].tags == outputs[1].tags).all()
    assert (outputs[0].locations == outputs[1].locations).all()
