"""A torch network that is rebuilt from an exported folder scores like the exported network."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from koala.errors import FileError  # noqa: E402
from koala.network.card import Card, read_card, write_card  # noqa: E402
from koala.network.onnx.network import OnnxNetwork  # noqa: E402
from koala.network.torch.ensemble import HeadEnsemble  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.settings import SHARED  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.export.onnx import export_network  # noqa: E402
from koala.training.export.packing import read_public, round_public  # noqa: E402
from koala.training.export.rebuilding import rebuild  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402

from ... import tiny  # noqa: E402

SHIPPED = {
    "layers": "mixture",
    "entity": "marked",
    "has_question": True,
    "has_convention": True,
    "projected_width": 64,
    "token_width": 32,
}
DECODER = {
    "reads": "steps",
    "locations": "scorer",
    "step_width": 64,
    "width": 32,
    "has_legal_crf": True,
}

KINDS = {
    "frozen encoder, several heads, an 8-bit copy of the public encoder": (
        {**SHIPPED, "is_frozen": True, "n_frozen_layers": 1},
        DECODER,
        SHARED,
        2,
        "copy",
    ),
    "frozen encoder, reads the public encoder": (
        {**SHIPPED, "is_frozen": True, "n_frozen_layers": 1},
        DECODER,
        SHARED,
        1,
        "public",
    ),
    "trained upper layers, all shared": (
        {**SHIPPED, "n_shared_layers": 2, "n_frozen_layers": 1},
        DECODER,
        SHARED,
        1,
        "copy",
    ),
    "trained upper layers that run for each entity": (
        {"entity": "marked", "n_shared_layers": 1, "n_frozen_layers": 1, "has_convention": True},
        DECODER,
        SHARED,
        1,
        "public",
    ),
    "the paper's": ({}, {}, "own", 1, ""),
    "no knowledge, sequences": ({"is_frozen": True}, {"reads": "steps"}, "", 1, ""),
}


def export(kind, folder):
    """Export tiny networks of a kind, with weights that differ from those of a new network."""
    encoder, decoder, knowledge, n_heads, public = kind
    base = tiny.build_settings(
        tiny.build_encoder(folder / "encoder"), tiny.build_store(folder) if knowledge else None
    )
    settings = replace(
        base,
        encoder=replace(base.encoder, **encoder),
        decoder=replace(base.decoder, **decoder),
    )
    if knowledge == SHARED:
        settings = replace(settings, knowledge=replace(settings.knowledge, encoder=SHARED))
    items = build_training_data(tiny.build_corpus(), settings).dev
    torch.manual_seed(7)
    models = [build_model(settings) for _ in range(n_heads)]
    with torch.no_grad():
        for model in models:
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.add_(torch.randn_like(parameter) * 0.2)
    model = HeadEnsemble(models) if n_heads > 1 else models[0]
    tables = None
    if public == "copy":
        tables = round_public(folder / "encoder", folder / "copy.safetensors")
    elif public == "public":
        tables = read_public(folder / "encoder")
    target, batcher = folder / "model", build_batcher(settings)
    card = Card("tiny", settings.to_toml())
    export_network(model, batcher, items, target, card, public=tables)
    return target, batcher, items


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_the_rebuilt_network_gives_the_output_of_the_exported_one(kind, tmp_path):
    folder, batcher, items = export(kind, tmp_path)
    models = rebuild(folder, batcher, items[:4])
    assert len(models) == kind[3]
    network = HeadEnsemble(models) if len(models) > 1 else models[0]
    batch = batcher.build(items)
    ours, theirs = network.predict(batch), OnnxNetwork(folder)(batch)
    np.testing.assert_allclose(ours.tags, theirs.tags, atol=2e-3)
    np.testing.assert_allclose(ours.transitions, theirs.transitions, atol=1e-3)
    for index in range(len(items)):
        np.testing.assert_allclose(
            ours.location_scores(index), theirs.location_scores(index), atol=2e-3
        )
    if ours.attention is not None:
        np.testing.assert_allclose(ours.attention, theirs.attention, atol=2e-3)


def test_a_network_with_other_settings_than_its_card_is_refused(tmp_path):
    folder, batcher, items = export(next(iter(KINDS.values())), tmp_path)
    card = read_card(folder)
    settings = card.read_settings()
    # Triples would be read by more layers than those that the graph has.
    wrong = replace(settings, encoder=replace(settings.encoder, n_frozen_layers=2))
    write_card(replace(card, settings=wrong.to_toml()), folder)
    with pytest.raises(FileError, match=r"structure|other scores"):
        rebuild(folder, batcher, items[:4])
