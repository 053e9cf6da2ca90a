"""Both stages on a tiny model: two layers of width 32 with BERT's vocabulary."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from koala.encoders import windows as shipped  # noqa: E402
from koala.encoders.tokenizer import SubwordTokenizer  # noqa: E402
from koala.errors import KoalaError  # noqa: E402
from koala.knowledge.triple import Triple  # noqa: E402
from koala.pretraining import language_model  # noqa: E402
from koala.pretraining.batches import LengthSampler, MaskedDataset, collate  # noqa: E402
from koala.pretraining.examples import (  # noqa: E402
    build_text_examples,
    build_triple_examples,
)
from koala.pretraining.head import HEAD, load_language_model  # noqa: E402
from koala.pretraining.language_model import StageData, find_checkpoint, pretrain  # noqa: E402
from koala.pretraining.masking import IGNORED, Replacement, WordMasking  # noqa: E402
from koala.pretraining.perplexity import mask_in_parts, measure_perplexity  # noqa: E402
from koala.settings.pretraining import (  # noqa: E402
    HeadSettings,
    MaskingSettings,
    PretrainingSettings,
)

TEXTS = [
    "Roots absorb water from the soil.",
    "The water flows to the leaf.",
    "Light from the sun and carbon dioxide enter the leaf.",
    "The leaf turns them into sugar and oxygen.",
    "Rain falls on the mountain and the river carries sand to the sea.",
    "Magma rises, cools and forms rock.",
]


class KilledError(Exception):
    pass


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    """A tiny model on several threads spends more time waiting than computing."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    """An encoder in a folder like that of a public one."""
    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = shipped.load_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def data(encoder) -> StageData:
    subwords = SubwordTokenizer(encoder)
    examples = build_text_examples(TEXTS, subwords)
    return StageData(examples, {"dev": mask_in_parts(examples, subwords.mask)})


@pytest.fixture(scope="module")
def settings(encoder) -> PretrainingSettings:
    return PretrainingSettings(
        encoder=str(encoder),
        epochs=2,
        batch=2,
        learning_rate=1e-3,
        head=HeadSettings(epochs=1, learning_rate=1e-2),
    )


@pytest.fixture(scope="module")
def finished(settings, data, tmp_path_factory) -> Path:
    """A run without interruption."""
    outcome = pretrain(settings, data, tmp_path_factory.mktemp("run") / "out")
    assert outcome.is_finished
    return outcome.folder


def weights_of(folder: Path) -> dict:
    encoder = transformers.AutoModel.from_pretrained(folder, add_pooling_layer=False)
    return encoder.state_dict() | {
        f"head.{k}": v for k, v in load_language_model(folder)[0].head.state_dict().items()
    }


def assert_equal(one: dict, other: dict) -> None:
    assert one.keys() == other.keys()
    for key in one:
        assert torch.equal(one[key], other[key]), key


def test_the_folder_has_the_files_of_a_public_encoder(finished, encoder):
    names = {path.name for path in finished.iterdir()}
    assert {"config.json", "tokenizer.json", "model.safetensors", HEAD} <= names
    assert "checkpoints" not in names
    loaded = transformers.AutoModel.from_pretrained(finished, add_pooling_layer=False)
    assert not [key for key in loaded.state_dict() if "head" in key or "cls" in key]
    public = transformers.AutoModel.from_pretrained(encoder, add_pooling_layer=False)
    assert loaded.state_dict().keys() == public.state_dict().keys()
    assert (finished / "tokenizer.json").read_bytes() == (encoder / "tokenizer.json").read_bytes()


def test_dropout_of_the_stage_is_not_saved_with_the_encoder(settings, data, encoder, tmp_path):
    batch = collate([data.probes["dev"][0]], pad=0)
    for dropout, is_deterministic in ((0.0, True), (None, False)):
        model = load_language_model(encoder, dropout=dropout)[0].train()
        assert torch.equal(model(**batch), model(**batch)) == is_deterministic
    without_dropout = replace(settings, epochs=1, dropout=0.0)
    folder = pretrain(without_dropout, data, tmp_path / "out").folder
    public = transformers.AutoConfig.from_pretrained(encoder)
    saved = transformers.AutoConfig.from_pretrained(folder)
    assert saved.hidden_dropout_prob == public.hidden_dropout_prob == 0.1
    assert saved.attention_probs_dropout_prob == public.attention_probs_dropout_prob == 0.1


def test_bfloat16_gives_similar_losses_and_is_evaluated_in_float32(
    settings, data, encoder, tmp_path
):
    batch = collate(data.probes["dev"], pad=0)
    exact, rounded = (
        load_language_model(encoder, dropout=0.0, precision=precision)[0]
        for precision in ("float32", "bfloat16")
    )
    losses = [model.train()(**batch) for model in (exact, rounded)]
    assert not torch.equal(*losses)
    torch.testing.assert_close(*losses, atol=0.05, rtol=0.02)
    assert torch.equal(exact.eval()(**batch), rounded.eval()(**batch))
    quick = replace(settings, epochs=1, precision="bfloat16")
    saved = weights_of(pretrain(quick, data, tmp_path / "out").folder)
    assert {tensor.dtype for tensor in saved.values() if tensor.is_floating_point()} == {
        torch.float32
    }


def test_the_log_has_a_line_before_and_after_every_epoch(finished):
    lines = [json.loads(line) for line in (finished / "log.jsonl").read_text().splitlines()]
    assert [(line["stage"], line["epoch"]) for line in lines] == [
        ("head", 0.0),
        ("head", 1.0),
        ("encoder", 0.0),
        ("encoder", 1.0),
        ("encoder", 2.0),
    ]
    assert all(line["perplexity"]["dev"] > 1 for line in lines)
    # The second part starts with the perplexity at the end of the first.
    assert lines[1]["perplexity"] == lines[2]["perplexity"]


def test_the_head_is_trained_alone_and_then_everything(settings, data, encoder, tmp_path):
    model, has_head = load_language_model(encoder)
    assert not has_head
    before = {k: v.clone() for k, v in model.state_dict().items()}
    stage = language_model._Stage(
        settings, data, tmp_path, encoder, progress=lambda *_: None, tell=print, started=0.0
    )
    assert stage.train_head(model)
    after = {k: v.clone() for k, v in model.state_dict().items()}
    for key in before:
        assert torch.equal(before[key], after[key]) == key.startswith("encoder."), key
    assert stage.train_all(model)
    changed = [k for k, v in model.state_dict().items() if not torch.equal(v, after[k])]
    assert set(changed) >= {k for k in before if k.endswith("weight")}


def test_the_decoder_is_the_embedding_table(encoder):
    model, _ = load_language_model(encoder)
    assert model.embeddings is model.encoder.get_input_embeddings().weight
    vocabulary, width = model.embeddings.shape
    assert not [k for k, v in model.head.state_dict().items() if v.shape == (vocabulary, width)]
    hidden = torch.randn(3, width)
    with torch.no_grad():
        before = model.head(hidden, model.embeddings)
        model.encoder.get_input_embeddings().weight[5] += 1.0
        after = model.head(hidden, model.embeddings)
    assert (before != after).any(0).nonzero().flatten().tolist() == [5]


def test_the_loss_equals_that_of_transformers(encoder):
    """BertForMaskedLM with the same weights gives the same loss."""
    ours, _ = load_language_model(encoder)
    ours.eval()
    config = transformers.AutoConfig.from_pretrained(encoder)
    theirs = transformers.BertForMaskedLM(config).eval()
    theirs.bert.load_state_dict(ours.encoder.state_dict())
    theirs.cls.predictions.transform.dense.load_state_dict(ours.head.dense.state_dict())
    theirs.cls.predictions.transform.LayerNorm.load_state_dict(ours.head.norm.state_dict())
    subwords = SubwordTokenizer(encoder)
    batch = collate(
        mask_in_parts(build_text_examples(TEXTS, subwords), subwords.mask), subwords.pad
    )
    with torch.no_grad():
        expected = theirs(
            input_ids=batch["subwords"], attention_mask=batch["mask"].long(), labels=batch["labels"]
        ).loss
        assert ours(**batch).mean().item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_head_that_ships_with_the_encoder_is_used(encoder, tmp_path):
    config = transformers.AutoConfig.from_pretrained(encoder)
    whole = transformers.BertForMaskedLM(config)
    torch.nn.init.normal_(whole.cls.predictions.bias)
    whole.save_pretrained(tmp_path)
    model, has_head = load_language_model(tmp_path)
    assert has_head
    assert torch.equal(model.head.bias, whole.cls.predictions.bias)
    assert torch.equal(model.head.dense.weight, whole.cls.predictions.transform.dense.weight)


def test_perplexity_falls_when_the_model_memorizes_a_few_sentences(settings, data, tmp_path):
    longer = replace(settings, epochs=25, batch=6, learning_rate=5e-3, masking=MaskingSettings(0.5))
    log = pretrain(longer, data, tmp_path / "run").log
    before = next(line for line in log if line.stage == "encoder")
    assert log[-1].perplexity["dev"] < before.perplexity["dev"] / 5


def test_every_noun_and_verb_is_masked_once(encoder):
    subwords = SubwordTokenizer(encoder)
    (example,) = build_text_examples([TEXTS[4]], subwords)
    parts = mask_in_parts([example], subwords.mask)
    masked = sorted(i for m in parts for i, label in enumerate(m.labels) if label != IGNORED)
    assert masked == sorted(i for target in example.targets for i in target)


def test_perplexity_does_not_depend_on_the_batch_size(encoder, data):
    model, _ = load_language_model(encoder)
    pad = SubwordTokenizer(encoder).pad
    model.train()
    one, all_ = (measure_perplexity(model, data.probes["dev"], pad=pad, batch=n) for n in (1, 99))
    assert one == pytest.approx(all_, rel=1e-5)
    assert model.training


def kill_after(monkeypatch, stage: str, epoch: float) -> None:
    """Raise KilledError when the epoch after this one begins."""
    begin = language_model.NewMasks.on_epoch_begin

    def die(self, args, state, control, **rest):
        if Path(args.output_dir).name == stage and (state.epoch or 0) >= epoch:
            raise KilledError
        return begin(self, args, state, control, **rest)

    monkeypatch.setattr(language_model.NewMasks, "on_epoch_begin", die)


@pytest.mark.parametrize(("stage", "epoch"), [("encoder", 0.0), ("encoder", 1.0)])
def test_a_killed_and_resumed_run_gives_the_same_weights(
    settings, data, finished, tmp_path, monkeypatch, stage, epoch
):
    with monkeypatch.context() as patch:
        kill_after(patch, stage, epoch)
        with pytest.raises(KilledError):
            pretrain(settings, data, tmp_path / "run")
    outcome = pretrain(settings, data, tmp_path / "run", resume=True)
    assert outcome.is_finished
    assert_equal(weights_of(outcome.folder), weights_of(finished))
    resumed = [(line.stage, line.epoch, line.loss, line.perplexity) for line in outcome.log]
    log = language_model.read_log(finished / "log.jsonl")
    assert resumed == [(line.stage, line.epoch, line.loss, line.perplexity) for line in log]


def test_a_run_stopped_by_the_time_limit_and_resumed_gives_the_same_weights(
    settings, data, finished, tmp_path
):
    folder = tmp_path / "run"
    # Every run has time for one batch, and stops in the middle of an epoch.
    limited = replace(settings, max_minutes=0.0)
    assert not pretrain(limited, data, folder).is_finished
    assert find_checkpoint(folder / "checkpoints" / "head")
    assert not (folder / "model.safetensors").exists()
    # Two more runs: the second batch of the head; its third, and the first batch of everything.
    for _ in range(2):
        assert not pretrain(limited, data, folder, resume=True).is_finished
    assert find_checkpoint(folder / "checkpoints" / "encoder")
    assert (folder / "model.safetensors").exists()
    assert pretrain(settings, data, folder, resume=True).is_finished
    assert_equal(weights_of(folder), weights_of(finished))


def test_max_steps_ends_the_stage(settings, data, tmp_path):
    outcome = pretrain(replace(settings, max_steps=1), data, tmp_path / "run")
    assert outcome.is_finished
    assert outcome.log[-1].step == 1


def test_a_folder_with_a_run_is_not_overwritten(settings, data, finished):
    with pytest.raises(KoalaError, match="--resume"):
        pretrain(settings, data, finished)
    other = replace(settings, seed=1, head=replace(settings.head, epochs=2))
    with pytest.raises(KoalaError, match=r"seed: 0 there, 1 here; head\.epochs: 1 there, 2 here"):
        pretrain(other, data, finished, resume=True)
    with pytest.raises(KoalaError, match=r"different data \(examples: 6 there, 5 here; subwords"):
        pretrain(settings, replace(data, examples=data.examples[1:]), finished, resume=True)
    assert pretrain(settings, data, finished, resume=True).is_finished


def test_a_stage_on_triples(settings, encoder, tmp_path):
    triples = [Triple("rain", "CreatedBy", "rain clouds"), Triple("leaf", "PartOf", "plant")]
    examples = build_triple_examples(triples, SubwordTokenizer(encoder))
    masking = MaskingSettings(mask_share=1.0, random_share=0.0)
    stage = replace(settings, stage="triples", epochs=1, masking=masking)
    outcome = pretrain(stage, StageData(examples, {}), tmp_path / "run")
    assert outcome.is_finished
    assert outcome.log[-1].perplexity == {}


def test_the_sampler_groups_similar_lengths_and_has_every_example_once(encoder):
    subwords = SubwordTokenizer(encoder)
    examples = build_text_examples(TEXTS, subwords) * 5
    dataset = MaskedDataset(examples, WordMasking(Replacement(1, (2,))), seed=3)
    sampler = LengthSampler(dataset, batch=4)
    orders = []
    for dataset.epoch in (0, 1):
        orders.append(list(sampler))
        assert orders[-1] == list(sampler)
        assert sorted(orders[-1]) == list(range(len(examples)))
    assert orders[0] != orders[1]
    lengths = [len(examples[i].subwords) for i in orders[0]]
    spread = [max(lengths[i : i + 4]) - min(lengths[i : i + 4]) for i in range(0, 28, 4)]
    assert sum(spread) / len(spread) < max(lengths) - min(lengths)
