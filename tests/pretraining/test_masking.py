"""Masking strategies, checked by counting and against the paper's figure."""

from pathlib import Path

import numpy as np
import pytest

from koala.encoders import windows as shipped
from koala.encoders.tokenizer import SubwordTokenizer
from koala.errors import KoalaError
from koala.knowledge.triple import Triple
from koala.pretraining.examples import (
    build_text_examples,
    build_triple,
    build_triple_examples,
    hold_out,
    read_paragraphs,
    read_triples,
)
from koala.pretraining.masking import (
    IGNORED,
    Example,
    Replacement,
    TripleMasking,
    WordMasking,
    build_rng,
)

TEXT = "Roots absorb water from the soil. The water quickly flows to a green photoautotroph."


@pytest.fixture(scope="module")
def subwords(tmp_path_factory) -> SubwordTokenizer:
    folder: Path = tmp_path_factory.mktemp("tokenizer")
    shipped.load_tokenizer().save(str(folder / "tokenizer.json"))
    return SubwordTokenizer(folder)


def name(subwords: SubwordTokenizer, numbers) -> list[str]:
    return [subwords._tokenizer.id_to_token(number) for number in numbers]


def test_only_nouns_and_verbs_may_be_masked(subwords):
    (example,) = build_text_examples([TEXT], subwords)
    words = ["".join(name(subwords, [example.subwords[i] for i in t])) for t in example.targets]
    expected = ["roots", "absorb", "water", "soil", "water", "flows"]
    assert words[:-1] == expected
    assert words[-1].replace("##", "") == "photoautotroph"
    assert len(example.targets[-1]) > 1


def test_words_are_masked_as_a_whole_and_nothing_else_is(subwords):
    (example,) = build_text_examples([TEXT], subwords)
    replacement = Replacement(subwords.mask, subwords.ordinary, mask_share=1.0, random_share=0.0)
    masking = WordMasking(replacement, probability=0.3)
    allowed = {i for target in example.targets for i in target}
    for index in range(200):
        masked = masking.mask(example, build_rng(0, 0, index))
        hidden = {i for i, label in enumerate(masked.labels) if label != IGNORED}
        assert hidden <= allowed
        for target in example.targets:
            assert set(target) <= hidden or not set(target) & hidden
        for i, subword in enumerate(masked.subwords):
            assert subword == (subwords.mask if i in hidden else example.subwords[i])
            assert masked.labels[i] == (example.subwords[i] if i in hidden else IGNORED)


def test_words_are_masked_with_probability_03_and_replaced_with_berts_shares():
    n = 20_000
    example = Example(tuple(range(1000, 1000 + n)), tuple((i,) for i in range(n)))
    masked = WordMasking(Replacement(9, (7, 8))).mask(example, build_rng(1, 0, 0))
    hidden = [i for i, label in enumerate(masked.labels) if label != IGNORED]
    assert len(hidden) / n == pytest.approx(0.3, abs=0.015)
    replaced = [masked.subwords[i] for i in hidden]
    assert replaced.count(9) / len(hidden) == pytest.approx(0.8, abs=0.02)
    assert sum(p in (7, 8) for p in replaced) / len(hidden) == pytest.approx(0.1, abs=0.02)
    unchanged = sum(masked.subwords[i] == example.subwords[i] for i in hidden)
    assert unchanged / len(hidden) == pytest.approx(0.1, abs=0.02)


def test_masks_depend_on_seed_epoch_and_example():
    example = Example(tuple(range(100, 160)), tuple((i,) for i in range(60)))
    masking = WordMasking(Replacement(9, (7, 8)))
    keys = [(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
    masks = [masking.mask(example, build_rng(*key)) for key in keys]
    assert masks == [masking.mask(example, build_rng(*key)) for key in keys]
    assert len(set(masks)) == len(keys)


def test_random_subwords_are_never_special_tokens(subwords):
    special = {subwords.first, subwords.last, subwords.pad, subwords.mask}
    assert not special & set(subwords.ordinary)
    assert not any(
        subword.startswith("[") and len(subword) > 1
        for subword in name(subwords, subwords.ordinary)
    )


def test_the_four_instances_of_the_papers_figure(subwords):
    triple = Triple("rain", "CreatedBy", "rain clouds")
    row = " ".join(name(subwords, build_triple(triple, subwords).subwords))
    assert row == "[CLS] rain [SEP] is created by [SEP] rain clouds [SEP]"
    masking = TripleMasking(Replacement(subwords.mask, subwords.ordinary, 1.0, 0.0))
    rng = np.random.default_rng(0)
    seen = [masking.mask(example, rng) for example in build_triple_examples([triple], subwords)]
    assert [" ".join(name(subwords, masked.subwords)) for masked in seen] == [
        "[CLS] [MASK] [SEP] is created by [SEP] rain clouds [SEP]",
        "[CLS] rain [SEP] [MASK] [MASK] [MASK] [SEP] rain clouds [SEP]",
        "[CLS] rain [SEP] is created by [SEP] [MASK] clouds [SEP]",
        "[CLS] rain [SEP] is created by [SEP] rain [MASK] [SEP]",
    ]


def test_a_long_text_is_cut_between_words_without_loss(subwords):
    (whole,) = build_text_examples([TEXT], subwords)
    windows = build_text_examples([TEXT], subwords, longest=10)
    assert all(len(window.subwords) <= 10 for window in windows)
    assert sum((w.subwords[1:-1] for w in windows), ()) == whole.subwords[1:-1]
    assert sum(len(w.targets) for w in windows) == len(whole.targets)


def test_a_text_without_nouns_and_verbs_is_left_out(subwords):
    assert build_text_examples(["And so on, and so on."], subwords) == []


def test_paragraphs_are_read_once(tmp_path):
    path = tmp_path / "wiki.jsonl"
    line = '{"query": "%s", "rank": 1, "score": 0.5, "title": "Rain", "text": "Rain  falls."}\n'
    path.write_text(line % "1" + line % "2")
    assert read_paragraphs(path) == ["Rain falls."]
    path.write_text('{"query": "1"}\n')
    with pytest.raises(KoalaError, match='line 1: expected a "text"'):
        read_paragraphs(path)


def test_triples_are_read_once_and_relations_must_be_known(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_text(
        "head\trelation\ttail\nRain\tCreatedBy\train_clouds\nrain\tCreatedBy\train clouds\n"
    )
    assert read_triples(path) == [Triple("rain", "CreatedBy", "rain clouds")]
    path.write_text("rain\tMakes\tmud\n")
    with pytest.raises(KoalaError, match="relation 'Makes' is unknown"):
        read_triples(path)


def test_held_out_triples_are_not_trained_on():
    triples = [Triple(str(n), "IsA", "number") for n in range(100)]
    trained, held_out = hold_out(triples, 0.1, seed=0)
    assert len(held_out) == 10
    assert not set(trained) & set(held_out)
    assert set(trained) | set(held_out) == set(triples)
