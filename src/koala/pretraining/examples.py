"""Texts and triples → tokenized examples, with the same tokenizer as the tracker's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from koala.encoders.tokenizer import SubwordTokenizer
from koala.errors import FileError
from koala.files import read_jsonl, read_tsv
from koala.knowledge.triple import PHRASES, Triple
from koala.pretraining.masking import Example, Replacement, split_instances
from koala.settings.pretraining import MaskingSettings
from koala.text.nlp import Word, analyze

Progress = Callable[[int, int], None]

MASKED_POS = frozenset({"NOUN", "PROPN", "VERB"})
"""Parts of speech that are masked: nouns and verbs (section 5.1), but not auxiliaries."""

_TEXTS_PER_BATCH = 256


def build_replacement(subwords: SubwordTokenizer, settings: MaskingSettings) -> Replacement:
    """Build the replacement of masked subwords from the settings."""
    return Replacement(subwords.mask, subwords.ordinary, settings.mask_share, settings.random_share)


def read_paragraphs(path: str | Path) -> list[str]:
    """Read the distinct texts of retrieved paragraphs."""
    texts: dict[str, None] = {}
    for number, line in read_jsonl(path):
        text = line.get("text")
        if not isinstance(text, str):
            problem = 'expected a "text", as in the output of `koala wikipedia retrieve`.'
            raise FileError(path, problem, line=number)
        texts[" ".join(text.split())] = None
    return [text for text in texts if text]


def read_triples(path: str | Path) -> list[Triple]:
    """Read distinct triples from a TSV with head, relation, tail; further columns are ignored."""
    triples: dict[Triple, None] = {}
    for number, (head, relation, tail, *_) in read_tsv(path, ("head", "relation", "tail")):
        if relation not in PHRASES:
            if number == 1 and relation.lower() in ("relation", "rel"):
                continue  # the header
            problem = f"relation {relation!r} is unknown. Known: {', '.join(PHRASES)}."
            raise FileError(path, problem, line=number)
        triples[Triple(_clean(head), relation, _clean(tail))] = None
    return list(triples)


def _clean(concept: str) -> str:
    return " ".join(concept.replace("_", " ").lower().split())


def build_text_examples(
    texts: Sequence[str],
    subwords: SubwordTokenizer,
    *,
    longest: int = 256,
    progress: Progress = lambda _done, _total: None,
) -> list[Example]:
    """Tokenize texts, with their nouns and verbs as targets; texts without any are left out."""
    examples = []
    for start in range(0, len(texts), _TEXTS_PER_BATCH):
        for analysis in analyze(texts[start : start + _TEXTS_PER_BATCH]):
            examples += list(_build_windows(analysis.words, subwords, longest))
        progress(min(start + _TEXTS_PER_BATCH, len(texts)), len(texts))
    return examples


def _build_windows(
    words: Sequence[Word], subwords: SubwordTokenizer, longest: int
) -> Iterator[Example]:
    """Cut a text between words into windows of at most `longest` subwords."""
    window: list[int] = [subwords.first]
    targets: list[tuple[int, ...]] = []
    for word, found in zip(words, subwords.split([word.text for word in words]), strict=True):
        found = found[: longest - 2]
        if len(window) + len(found) >= longest:
            yield from _close(window, targets, subwords)
            window, targets = [subwords.first], []
        if found and word.pos in MASKED_POS:
            targets.append(tuple(range(len(window), len(window) + len(found))))
        window += found
    yield from _close(window, targets, subwords)


def _close(
    window: list[int], targets: list[tuple[int, ...]], subwords: SubwordTokenizer
) -> Iterator[Example]:
    if targets:
        yield Example((*window, subwords.last), tuple(targets))


def build_triple_examples(triples: Iterable[Triple], subwords: SubwordTokenizer) -> list[Example]:
    """Tokenize triples; each gives several examples, as `split_instances` says."""
    return [
        instance
        for triple in triples
        for instance in split_instances(build_triple(triple, subwords))
    ]


def build_triple(triple: Triple, subwords: SubwordTokenizer) -> Example:
    """Build [CLS] head [SEP] relation [SEP] tail [SEP], with the three parts as targets."""
    row = [subwords.first]
    targets = []
    for part in (triple.head, triple.phrase, triple.tail):
        found = [subword for word in subwords.split(part.split()) for subword in word]
        targets.append(tuple(range(len(row), len(row) + len(found))))
        row += [*found, subwords.last]
    return Example(tuple(row), tuple(targets))


def hold_out(
    triples: Sequence[Triple], share: float, *, seed: int
) -> tuple[list[Triple], list[Triple]]:
    """Split triples at random into those to train on and those to measure perplexity on."""
    order = np.random.default_rng(seed).permutation(len(triples))
    held = set(order[: round(share * len(triples))].tolist())
    learned = [triple for i, triple in enumerate(triples) if i not in held]
    return learned, [triples[i] for i in sorted(held)]
