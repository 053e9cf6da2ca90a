from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from koala.errors import KoalaError  # noqa: E402
from koala.network.output import average_outputs  # noqa: E402
from koala.network.torch.ensemble import HeadEnsemble  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.settings import SHARED, EncoderSettings  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402

from ... import tiny  # noqa: E402


def freeze(settings, **encoder):
    knowledge = replace(settings.knowledge, encoder=SHARED)
    frozen = replace(
        settings.encoder, is_frozen=True, layers="mixture", n_frozen_layers=1, **encoder
    )
    return replace(settings, encoder=frozen, knowledge=knowledge)


def build_heads(settings, n=3):
    models = []
    for seed in range(n):
        torch.manual_seed(seed)
        models.append(build_model(settings).eval())
    return models


@pytest.mark.parametrize("entity", ["none", "marked"])
def test_an_ensemble_gives_the_average_of_its_heads(settings, entity):
    frozen = freeze(settings, entity=entity, projected_width=8, has_convention=True)
    items = build_training_data(tiny.build_corpus(), frozen).train
    batch = build_batcher(frozen).build(items)
    models = build_heads(frozen)
    expected = average_outputs([model.predict(batch) for model in models])
    found = HeadEnsemble(models).predict(batch)
    assert found.tags == pytest.approx(expected.tags, abs=1e-5)
    assert found.transitions == pytest.approx(expected.transitions, abs=1e-5)
    real = batch.candidate_mask[batch.procedure][:, None, :].repeat(found.locations.shape[1], 1)
    assert found.locations[real] == pytest.approx(expected.locations[real], abs=1e-5)
    assert np.isfinite(found.attention).all()
    assert found.location_attention == pytest.approx(expected.location_attention, abs=1e-5)


def test_heads_with_a_trained_encoder_are_refused(settings):
    with pytest.raises(KoalaError, match="frozen"):
        HeadEnsemble(build_heads(settings, 2))


def test_heads_of_different_shapes_are_refused(settings):
    one, _ = build_heads(freeze(settings), 2)
    other, _ = build_heads(freeze(settings, token_width=4), 2)
    with pytest.raises(KoalaError, match=r"differ in their settings .* has the shape \("):
        HeadEnsemble([one, other])


def test_the_annotation_convention_changes_the_output(settings):
    frozen = freeze(settings, has_convention=True)
    items = build_training_data(tiny.build_corpus(), frozen).train
    model = build_heads(frozen, 1)[0]
    with torch.no_grad():
        model.text_encoder.convention.weight.normal_()
    batcher = build_batcher(frozen)
    other = [
        replace(item, procedure=replace(item.procedure, convention="koala")) for item in items[:1]
    ]
    one, two = (model.predict(batcher.build(each)) for each in (items[:1], other))
    assert not np.allclose(one.tags, two.tags)


def test_outputs_of_frozen_layers_are_cached_in_a_folder(settings, tmp_path):
    frozen = freeze(settings)
    items = build_training_data(tiny.build_corpus(), frozen).train
    batch = build_batcher(frozen).build(items)
    (plain,) = build_heads(frozen, 1)
    expected = plain.predict(batch)
    for _ in range(2):
        (model,) = build_heads(frozen, 1)
        model.text_encoder.frozen.cache_in(tmp_path)
        assert model.predict(batch).tags == pytest.approx(expected.tags, abs=1e-6)
    files = list(tmp_path.rglob("*.npy"))
    assert len(files) == len({item.procedure.id for item in items})
    # The files are what the model reads.
    np.save(files[0], np.zeros_like(np.load(files[0])))
    (model,) = build_heads(frozen, 1)
    model.text_encoder.frozen.cache_in(tmp_path)
    assert not np.allclose(model.predict(batch).tags, expected.tags)


def test_projection_needs_shared_layers(settings):
    encoder = replace(settings.encoder, entity="marked", n_shared_layers=1, projected_width=8)
    with pytest.raises(KoalaError, match="projected_width"):
        build_model(replace(settings, encoder=encoder))
    assert EncoderSettings().projected_width == 0
