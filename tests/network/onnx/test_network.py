"""The torch model and the exported ONNX network give the same output for the same arrays."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from safetensors.numpy import load_file, save_file  # noqa: E402

from koala.errors import FileError  # noqa: E402
from koala.inference.predict import predict_grids  # noqa: E402
from koala.inference.scoring import NetworkScorer  # noqa: E402
from koala.network.card import Card  # noqa: E402
from koala.network.onnx.network import OnnxNetwork  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.settings import SHARED  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.export.onnx import export_network  # noqa: E402
from koala.training.export.packing import read_public, round_public  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402

from ... import tiny  # noqa: E402

KINDS = {
    "the paper's": ({}, {}, True),
    "the paper's, with a scorer": ({}, {"locations": "scorer"}, True),
    "upper layers learn, lower ones read triples": (
        {"n_frozen_layers": 1, "layers": "mixture"},
        {"locations": "scorer"},
        "shared",
    ),
    "all layers mixed below marks": (
        {"entity": "marked", "n_shared_layers": 2, "n_frozen_layers": 2, "layers": "mixture"},
        {"reads": "steps"},
        False,
    ),
    "upper shared layers learn below marks": (
        {"entity": "marked", "n_shared_layers": 2, "n_frozen_layers": 1, "layers": "mixture"},
        {"reads": "steps", "locations": "scorer"},
        False,
    ),
    "shared layers read triples": (
        {"entity": "marked", "n_shared_layers": 1, "n_frozen_layers": 1, "token_width": 0},
        {"reads": "steps", "locations": "scorer"},
        "shared",
    ),
    "marked": (
        {"entity": "marked", "n_shared_layers": 1, "n_frozen_layers": 1, "token_width": 0},
        {"reads": "steps", "locations": "scorer", "has_legal_crf": True},
        False,
    ),
    "marked, with knowledge": (
        {"entity": "marked", "n_shared_layers": 1},
        {"reads": "steps", "locations": "scorer"},
        True,
    ),
    "prefix": (
        {"entity": "prefix"},
        {"reads": "steps", "locations": "scorer", "has_entity_attention": True},
        False,
    ),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return tiny.build_settings(tiny.build_encoder(folder / "encoder"), tiny.build_store(folder))


@pytest.fixture(scope="module", params=KINDS, ids=list(KINDS))
def exported(request, base, tmp_path_factory):
    encoder, decoder, is_used = KINDS[request.param]
    settings = replace(
        base,
        encoder=replace(base.encoder, **encoder),
        decoder=replace(base.decoder, **decoder),
        knowledge=replace(base.knowledge, is_used=bool(is_used)),
    )
    if is_used == SHARED:
        settings = replace(settings, knowledge=replace(settings.knowledge, encoder=SHARED))
    items = build_training_data(tiny.build_corpus(), settings).dev
    torch.manual_seed(0)
    model, batcher = build_model(settings), build_batcher(settings)
    folder = tmp_path_factory.mktemp("exported")
    export_network(model, batcher, items[:2], folder, Card("tiny", settings.to_toml()))
    return model, batcher, items, folder


def test_torch_and_onnx_give_the_same_output(exported):
    model, batcher, items, folder = exported
    network = OnnxNetwork(folder)
    # Larger sizes than those of the export: more procedures, steps, candidates, triples.
    for some in (items, items[2:3], items[4:]):
        batch = batcher.build(some)
        ours, theirs = network(batch), model.predict(batch)
        np.testing.assert_allclose(ours.tags, theirs.tags, atol=1e-4)
        for index in range(len(some)):
            np.testing.assert_allclose(
                ours.location_scores(index), theirs.location_scores(index), atol=1e-4
            )
        np.testing.assert_allclose(ours.transitions, theirs.transitions, atol=1e-6)
        assert (ours.attention is None) == (theirs.attention is None)
        if ours.attention is not None:
            np.testing.assert_allclose(ours.attention, theirs.attention, atol=1e-4)
    assert predict_grids(NetworkScorer(network, batcher), items) == predict_grids(
        NetworkScorer(model.predict, batcher), items
    )


def test_entities_without_triples_are_scored(exported):
    model, batcher, items, folder = exported
    without = [replace(item, triples=()) for item in items[:2]]
    batch = batcher.build(without)
    np.testing.assert_allclose(
        OnnxNetwork(folder)(batch).tags, model.predict(batch).tags, atol=1e-4
    )


def test_output_does_not_depend_on_the_rest_of_the_batch(exported):
    _, batcher, items, folder = exported
    network = OnnxNetwork(folder)
    together = network(batcher.build(items))
    for start in range(0, 6, 2):
        alone = network(batcher.build(items[start : start + 2]))
        steps = alone.n_steps[0]
        np.testing.assert_allclose(together.tags[start, :steps], alone.tags[0, :steps], atol=1e-4)


def test_large_tables_are_packed(exported):
    *_, folder = exported
    size = sum(path.stat().st_size for path in folder.iterdir())
    # The embeddings alone have 30,522 × 32 values of four bytes.
    assert size < 30522 * 32 * 2


@pytest.fixture
def with_triples(exported):
    """A network that reads triples."""
    if exported[0].triple_encoder is None:
        pytest.skip("this kind reads no triples")
    return exported


class Counting:
    """A session that counts the triples it reads."""

    def __init__(self, session):
        self.session, self.n_read = session, 0
        self.get_inputs = session.get_inputs

    def run(self, outputs, feed):
        self.n_read += len(feed["triple_subwords"])
        return self.session.run(outputs, feed)


def test_a_triple_is_encoded_once_for_all_texts(with_triples):
    _, batcher, items, folder = with_triples
    network = OnnxNetwork(folder)
    session = network._triples._session = Counting(network._triples._session)
    for start in range(len(items)):
        network(batcher.build(items[start:]))
    # At most one more: the row for "no triple".
    distinct = {triple for item in items for triple in item.triples}
    assert len(distinct) <= session.n_read <= len(distinct) + 1


def test_the_vector_of_a_triple_depends_on_nothing_else(with_triples):
    _, batcher, items, folder = with_triples
    together = OnnxNetwork(folder)._triples.get(batcher.build(items))
    number = {t: i for i, t in enumerate({t: None for item in items for t in item.triples})}
    for item in items:
        if item.triples:
            alone = OnnxNetwork(folder)._triples.get(batcher.build([item]))
            rows = [number[triple] for triple in dict.fromkeys(item.triples)]
            # Exactly equal, so that a batch resumed after a kill gives the same bytes.
            np.testing.assert_array_equal(alone, together[rows])


def test_the_cache_of_vectors_is_bounded(with_triples, monkeypatch):
    _, batcher, items, folder = with_triples
    monkeypatch.setattr("koala.network.onnx.triples._CACHE_SIZE", 2)
    network = OnnxNetwork(folder)
    expected = OnnxNetwork(folder)._triples.get(batcher.build(items))
    for _ in range(2):
        np.testing.assert_array_equal(network._triples.get(batcher.build(items)), expected)
    assert len(network._triples._cache) <= 2


def test_tables_of_both_graphs_are_stored_once(exported):
    model, *_, folder = exported
    card = OnnxNetwork(folder).card
    shared = set(card.needs.get("network.onnx", ())) & set(card.needs.get("triples.onnx", ()))
    assert bool(shared) == (model.triple_encoder is not None)
    assert bool(shared) == (folder / "tables.safetensors").is_file()


def test_the_onnx_network_needs_no_torch():
    code = (
        "import sys; from koala.registry import find_model; "
        "from koala.network.onnx.network import OnnxNetwork; "
        "OnnxNetwork(find_model('small')); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_folder_without_a_valid_network_is_refused(tmp_path, exported):
    with pytest.raises(FileError, match="no exported network"):
        OnnxNetwork(tmp_path)
    (tmp_path / "card.json").write_text((exported[3] / "card.json").read_text())
    (tmp_path / "network.onnx").write_bytes(b"nonsense")
    with pytest.raises(FileError, match=r"cannot be (opened|read)"):
        OnnxNetwork(tmp_path)


def test_unchanged_tables_are_read_from_the_public_encoder(base, tmp_path):
    settings = replace(
        base,
        encoder=replace(base.encoder, is_frozen=True, layers="mixture"),
        knowledge=replace(base.knowledge, is_used=False),
    )
    items = build_training_data(tiny.build_corpus(), settings).dev
    torch.manual_seed(0)
    model, batcher = build_model(settings), build_batcher(settings)
    card = Card("tiny", settings.to_toml())
    public = read_public(Path(settings.encoder.name))
    export_network(model, batcher, items[:2], tmp_path, card, public=public)
    network = OnnxNetwork(tmp_path)
    batch = batcher.build(items)
    np.testing.assert_allclose(network(batch).tags, model.predict(batch).tags, atol=1e-4)
    # The embeddings alone are 30,522 × 32 numbers; none of them is in the file.
    assert (tmp_path / "network.onnx").stat().st_size < 30522 * 32 / 3
    assert "embeddings.word_embeddings.weight" in [name for name, _ in network.card.public.values()]


def test_several_networks_share_one_encoder_file(base, tmp_path):
    settings = replace(
        base,
        encoder=replace(base.encoder, is_frozen=True, layers="mixture", n_frozen_layers=1),
        knowledge=replace(base.knowledge, encoder=SHARED),
    )
    items = build_training_data(tiny.build_corpus(), settings).dev
    batcher = build_batcher(settings)
    batch = batcher.build(items)
    encoder = tmp_path / "encoder.safetensors"
    for seed, name in enumerate(("one", "two", "whole")):
        torch.manual_seed(seed)
        model = build_model(settings)
        public = round_public(Path(settings.encoder.name), encoder) if name != "whole" else None
        card = Card(name, settings.to_toml())
        export_network(model, batcher, items[:2], tmp_path / name, card, public=public)
        tags = OnnxNetwork(tmp_path / name)(batch).tags
        np.testing.assert_allclose(tags, model.predict(batch).tags, atol=1e-4)
    sizes = {
        name: sum(f.stat().st_size for f in (tmp_path / name).iterdir())
        for name in ("one", "whole")
    }
    # The embeddings are 30,522 × 32 numbers of one byte, most of the encoder.
    assert sizes["whole"] - sizes["one"] > 30522 * 32
    assert not (tmp_path / "one" / "tables.safetensors").exists()
    signatures = {name: OnnxNetwork(tmp_path / name).card.signature for name in ("one", "two")}
    assert signatures["one"].removeprefix("one") != signatures["two"].removeprefix("two")
    encoder.rename(tmp_path / "elsewhere")
    with pytest.raises(FileError, match=r"encoder\.safetensors"):
        OnnxNetwork(tmp_path / "one")


def test_a_shared_file_of_another_encoder_is_refused(base, tmp_path):
    folder = Path(base.encoder.name)
    file = tmp_path / "encoder.safetensors"
    names = round_public(folder, file).names
    assert round_public(folder, file).names == names
    other = tiny.build_encoder(tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    save_file({name: -weight for name, weight in weights.items()}, other / "model.safetensors")
    with pytest.raises(FileError, match="not the 8-bit tables"):
        round_public(other, file)
