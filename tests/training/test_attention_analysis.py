import pytest

torch = pytest.importorskip("torch")

from dataclasses import replace  # noqa: E402

from koala.network.torch.koala import build_model  # noqa: E402
from koala.training.attention_analysis import _pick_labelled, measure_attention  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402

from .. import tiny  # noqa: E402


def test_triples_with_the_same_attention_share_the_top():
    # Two steps of one entity, the second with equal attention; the second triple is labelled.
    attention = torch.tensor([[[0.2, 0.7, 0.1], [1 / 3, 1 / 3, 1 / 3]]])
    labels = torch.tensor([[[False, True, False]] * 2])
    weight, top = _pick_labelled(attention.log(), labels, torch.tensor([True]))
    assert weight.tolist() == pytest.approx([0.7, 1 / 3])
    assert top.tolist() == pytest.approx([1, 1 / 3])


def test_two_labelled_triples_or_no_choice_do_not_count():
    attention = torch.tensor([[[0.5, 0.5]], [[1.0, 0.0]]])
    labels = torch.tensor([[[True, True]], [[True, False]]])
    weight, _ = _pick_labelled(attention.log(), labels, torch.tensor([True, False]))
    assert weight.numel() == 0


def test_a_model_without_attention_has_no_figures(tmp_path):
    settings = tiny.build_settings(
        tiny.build_encoder(tmp_path / "encoder"), tiny.build_store(tmp_path)
    )
    data = build_training_data(tiny.build_corpus(), settings)
    for has_attention in (True, False):
        knowledge = replace(settings.knowledge, has_attention=has_attention)
        own = replace(settings, knowledge=knowledge)
        found = measure_attention(build_model(own), build_batcher(own), data.train)
        assert (found is not None) == has_attention
