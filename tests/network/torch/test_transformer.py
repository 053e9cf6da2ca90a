"""Encoders of several families, with tiny real models and tokenizers."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

import tokenizers  # noqa: E402
import transformers  # noqa: E402
from tokenizers import decoders, models, pre_tokenizers, trainers  # noqa: E402

from koala.encoders.tokenizer import SubwordTokenizer  # noqa: E402
from koala.errors import KoalaError  # noqa: E402
from koala.network.card import Card  # noqa: E402
from koala.network.onnx.network import OnnxNetwork  # noqa: E402
from koala.network.torch.encoder import TextEncoder  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.network.torch.transformer import run_layers  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.export.onnx import export_network  # noqa: E402
from koala.training.loop import Training, build_batcher  # noqa: E402

from ... import tiny  # noqa: E402

TEXTS = [step.text for e in tiny.build_corpus().splits["train"] for step in e.procedure.steps]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


def train_tokenizer(kind: str) -> tokenizers.Tokenizer:
    """Train a tokenizer with a small vocabulary on the tiny corpus."""
    if kind == "wordpiece":
        tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=BERT)
    elif kind == "byte-level":
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=ROBERTA,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
    else:
        tokenizer = tokenizers.Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=ROBERTA, unk_token="<unk>")
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def build_encoder(family: str, folder):
    """Save a tiny encoder with random weights and its tokenizer."""
    kind = {"distilbert": "wordpiece", "roberta": "byte-level", "xlm-roberta": "sentencepiece"}
    tokenizer = train_tokenizer(kind[family])
    n = tokenizer.get_vocab_size()
    if family == "distilbert":
        config = transformers.DistilBertConfig(
            vocab_size=n, dim=16, n_layers=2, n_heads=2, hidden_dim=32, pad_token_id=0
        )
    else:
        kind = transformers.RobertaConfig if family == "roberta" else transformers.XLMRobertaConfig
        config = kind(
            vocab_size=n, intermediate_size=32, max_position_embeddings=200, pad_token_id=1, **SIZES
        )
    folder.mkdir()
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module", params=["distilbert", "roberta", "xlm-roberta"])
def encoder(request, tmp_path_factory):
    return build_encoder(request.param, tmp_path_factory.mktemp("families") / request.param)


def test_every_word_has_its_own_subwords(encoder):
    words = ["Roots", "absorb", "water", ",", "then", "(slowly)", "evaporate", "."]
    tokenizer = SubwordTokenizer(encoder)
    found = tokenizer.split(words)
    assert all(found)
    # Concatenated, they equal the tokenization of the whole text.
    whole = tokenizers.Tokenizer.from_file(str(encoder / "tokenizer.json"))
    joined = [number for each in found for number in each]
    if encoder.name == "distilbert":
        assert joined == whole.encode(words, is_pretokenized=True, add_special_tokens=False).ids
    else:
        assert joined == whole.encode(" ".join(words), add_special_tokens=False).ids
        # A word in the middle of a text is tokenized with the space in front of it.
        assert tokenizer.split(["water", "water"])[1] == tokenizer.split(["a", "water"])[1]


def test_hidden_states_equal_those_of_transformers(encoder):
    transformer = transformers.AutoModel.from_pretrained(str(encoder)).eval()
    subwords = torch.randint(5, transformer.config.vocab_size, (2, 9))
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 6:] = False
    with torch.no_grad():
        whole = transformer(subwords, attention_mask=mask.long(), output_hidden_states=True)
        layers = run_layers(transformer, subwords, mask, "mixture")
        first = run_layers(transformer, subwords, mask, stop=1)
    for ours, theirs in zip(layers.unbind(1), whole.hidden_states, strict=True):
        assert torch.allclose(ours[mask], theirs[mask], atol=1e-5)
    assert torch.allclose(first[:, 0][mask], whole.hidden_states[1][mask], atol=1e-5)


def test_a_tracker_can_be_trained_and_exported(encoder, tmp_path):
    base = tiny.build_settings(tiny.build_encoder(tmp_path / "triples"), None)
    settings = replace(
        base,
        encoder=replace(
            base.encoder, name=str(encoder), is_frozen=True, layers="mixture", entity="marked"
        ),
        training=replace(base.training, epochs=1),
    )
    data = build_training_data(tiny.build_corpus(), settings)
    assert Training(settings, data, tmp_path / "run").run().epoch == 1
    model, batcher = build_model(settings), build_batcher(settings)
    export_network(model, batcher, data.dev, tmp_path / "model", Card("x", settings.to_toml()))
    batch = batcher.build(data.dev)
    ours, theirs = OnnxNetwork(tmp_path / "model")(batch), model.predict(batch)
    np.testing.assert_allclose(ours.tags, theirs.tags, atol=1e-4)


def test_freezing_some_layers_of_a_family_that_cannot_be_split_is_refused(tmp_path):
    folder = build_encoder("distilbert", tmp_path / "distilbert")
    transformer = transformers.AutoModel.from_pretrained(str(folder))
    with pytest.raises(KoalaError, match="family distilbert"):
        TextEncoder(transformer, token_width=8, dropout=0.0, is_frozen=False, n_frozen_layers=1)
