"""Texts and triples → tokenised examples, in the word pieces that the tracker reads, too."""

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
"""Nouns and verbs (section 5.1); auxiliaries are neither."""

_TEXTS_AT_ONCE = 256


def build_replacement(subwords: SubwordTokenizer, settings: MaskingSettings) -> Replacement:
    """Say what stands in the place of a piece to guess."""
    return Replacement(subwords.mask, subwords.ordinary, settings.mask_share, settings.random_share)


def read_paragraphs(path: str | Path) -> list[str]:
    """Read the texts of retrieved paragraphs, each once however often it was retrieved."""
    texts: dict[str, None] = {}
    for number, line in read_jsonl(path):
        text = line.get("text")
        if not isinstance(text, str):
            problem = 'no "text"; lines of `koala wikipedia retrieve` were expected.'
            raise FileError(path, problem, line=number)
        texts[" ".join(text.split())] = None
    return [text for text in texts if text]


def read_triples(path: str | Path) -> list[Triple]:
    """Read distinct triples from a TSV: head, relation, tail; further columns are passed over."""
    triples: dict[Triple, None] = {}
    for number, (head, relation, tail, *_) in read_tsv(path, ("head", "relation", "tail")):
        if relation not in PHRASES:
            if number == 1 and relation.lower() in ("relation", "rel"):
                continue  # the names of the columns
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
    """Tokenise texts; their nouns and verbs may be masked. What has none is left out."""
    examples = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        for analysis in analyze(texts[start : start + _TEXTS_AT_ONCE]):
            examples += list(_build_windows(analysis.words, subwords, longest))
        progress(min(start + _TEXTS_AT_ONCE, len(texts)), len(texts))
    return examples


def _build_windows(
    words: Sequence[Word], subwords: SubwordTokenizer, longest: int
) -> Iterator[Example]:
    """Cut a text between words, so that every window has at most `longest` pieces."""
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
    """Tokenise triples; each makes as many examples as there are turns of masking it."""
    return [
        instance
        for triple in triples
        for instance in split_instances(build_triple(triple, subwords))
    ]


def build_triple(triple: Triple, subwords: SubwordTokenizer) -> Example:
    """Build [CLS] head [SEP] relation [SEP] tail [SEP], its targets the three parts."""
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
    """Part triples at random into those to learn from and those to measure on."""
    order = np.random.default_rng(seed).permutation(len(triples))
    held = set(order[: round(share * len(triples))].tolist())
    learned = [triple for i, triple in enumerate(triples) if i not in held]
    return learned, [triples[i] for i in sorted(held)]
