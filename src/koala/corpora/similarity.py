"""Similarity of texts: cosine of TF-IDF vectors over the stems of content words."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from koala.document import Procedure
from koala.text.nlp import stem_content

_Vector = dict[str, float]


@dataclass(frozen=True, slots=True)
class Pair:
    """The indices of two texts, and their cosine."""

    first: int
    second: int
    cosine: float


def find_pairs(
    procedures: Sequence[Procedure], others: Sequence[Procedure] | None = None, *, least: float
) -> list[Pair]:
    """Find the pairs of procedures whose cosine is at least `least`, the most similar first.

    Each procedure is compared with all `others` or, without these, with all procedures before it.
    Document frequencies are counted over all texts; the question or title is part of the text.
    """
    counts = [_count(procedure) for procedure in (*procedures, *(others or ()))]
    frequency = Counter(term for each in counts for term in each)
    vectors = [_weigh(each, frequency, len(counts)) for each in counts]
    rows: Sequence[_Vector] = vectors[len(procedures) :] if others is not None else vectors
    postings: dict[str, list[tuple[int, float]]] = {}
    for number, vector in enumerate(rows):
        for term, weight in vector.items():
            postings.setdefault(term, []).append((number, weight))
    pairs = [
        pair
        for number in range(len(procedures))
        for pair in _compare(number, vectors[number], postings, is_same=others is None)
        if pair.cosine >= least
    ]
    return sorted(pairs, key=lambda pair: -pair.cosine)


def _compare(
    number: int,
    vector: _Vector,
    postings: dict[str, list[tuple[int, float]]],
    *,
    is_same: bool,
) -> Iterator[Pair]:
    cosines: Counter[int] = Counter()
    for term, weight in vector.items():
        for other, other_weight in postings.get(term, ()):
            if not is_same or other < number:
                cosines[other] += weight * other_weight  # type: ignore[assignment]
    for other, cosine in cosines.items():
        yield Pair(number, other, cosine)


def _count(procedure: Procedure) -> Counter[str]:
    texts = (procedure.question, *(step.text for step in procedure.steps))
    return Counter(term for text in texts for term in stem_content(text))


def _weigh(counts: Counter[str], frequency: Counter[str], n_texts: int) -> _Vector:
    weights = {
        term: (1 + math.log(count)) * math.log(n_texts / frequency[term])
        for term, count in counts.items()
    }
    length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}
