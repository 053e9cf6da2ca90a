"""Retrieve the ten best triples for an entity in a procedure: Algorithm 1 of the paper.

The entity's one-hop subgraph is split in two. *Exact* matches: the neighbour concept occurs in the
question or the text. *Fuzzy* matches: all others, scored by the highest cosine between the
neighbour, encoded in the triple's sentence, and a content word of the text, encoded in its context.
Exact matches come first, by weight, then fuzzy matches, by score. Of exact matches of one weight,
RelatedTo comes last; the others are ordered by their overlap with the text, then by their score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koala.document import Entity, Procedure
from koala.encoders import Encoder, open_encoder
from koala.errors import KoalaError
from koala.knowledge.store import Neighbour, Store
from koala.knowledge.triple import Triple
from koala.knowledge.vectors import NeighbourVectors
from koala.text.nlp import is_content, stem, stem_content

N_TRIPLES = 10
"""N_K of the paper (section 4.3.1)."""

LEAST_OVERLAP = 0.5
"""An exact match needs at least this share of the neighbour's content words in the text."""

LEAST_WEIGHT = 1.0
"""An exact match needs at least this weight."""

Progress = Callable[[int, int], None]
Triples = list[tuple[tuple[Triple, ...], ...]]
"""For each entity of each procedure its triples, best first."""


Overlap = tuple[float, int]
"""Share and number of a neighbour's content stems that are in the text."""


class Match(StrEnum):
    """How a triple was found."""

    EXACT = "exact"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A triple and how it was found."""

    triple: Triple
    match: Match
    score: float
    """What it was ranked by: the weight of an exact match, the cosine of a fuzzy one."""

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-compatible dict, including the triple's sentence."""
        triple = self.triple
        return {
            "head": triple.head,
            "relation": triple.relation,
            "tail": triple.tail,
            "weight": triple.weight,
            "is_estimate": triple.is_estimate,
            "match": self.match.value,
            "score": round(self.score, 4),
            "sentence": triple.sentence,
        }


@dataclass(frozen=True, slots=True)
class _Query:
    """An entity in a procedure with its subgraph, split into exact matches and others."""

    procedure: int
    stems: frozenset[str]
    """Stems of the entity's own names."""
    exact: tuple[tuple[Neighbour, Overlap], ...]
    others: tuple[Neighbour, ...]
    """Empty if there are enough exact matches."""

    @property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """All neighbours that are scored in context, exact matches first."""
        return (*(neighbour for neighbour, _ in self.exact), *self.others)


class Retriever:
    """Retrieves triples for many procedures at once, and encodes each distinct triple only once.

    Without an encoder it finds only exact matches, in milliseconds.
    """

    def __init__(
        self,
        store: Store,
        encoder: Encoder | None,
        *,
        vectors: NeighbourVectors | None = None,
        n_triples: int = N_TRIPLES,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._vectors = vectors or (NeighbourVectors(encoder) if encoder else None)
        self._n_triples = n_triples

    def retrieve(
        self, procedures: Sequence[Procedure], *, progress: Progress | None = None
    ) -> list[tuple[tuple[Retrieved, ...], ...]]:
        """Return for each entity of each annotated procedure its triples, best first."""
        if any(not step.words for procedure in procedures for step in procedure.steps if step.text):
            raise KoalaError("The procedures are not annotated. Call annotate on them first.")
        queries = [
            self._build_query(number, procedure, entity)
            for number, procedure in enumerate(procedures)
            for entity in procedure.entities
        ]
        scores = self._score(procedures, queries, progress)
        ranked = map(_rank, queries, scores)
        found = iter([each[: self._n_triples] for each in ranked])
        return [tuple(next(found) for _ in procedure.entities) for procedure in procedures]

    def _build_query(self, number: int, procedure: Procedure, entity: Entity) -> _Query:
        aliases = [stem_content(alias) or _stem_all(alias) for alias in entity.aliases]
        own = frozenset(each for stems in aliases for each in stems)
        named = _stems_of_text(procedure) - own
        exact: list[tuple[Neighbour, Overlap]] = []
        others: list[Neighbour] = []
        for neighbour in self._store.find_neighbours(aliases):
            overlap = measure_overlap(neighbour, named)
            if is_exact(neighbour, overlap):
                exact.append((neighbour, overlap))
            else:
                others.append(neighbour)
        if self._vectors is None or len(exact) >= self._n_triples:
            others = []
        return _Query(number, own, tuple(exact), tuple(others))

    def _score(
        self, procedures: Sequence[Procedure], queries: Sequence[_Query], progress: Progress | None
    ) -> list[list[float]]:
        """Score each query's neighbours in context; without an encoder all scores are 0."""
        if self._vectors is None or self._encoder is None:
            return [[0.0] * len(query.neighbours) for query in queries]
        distinct = {(n.triple, n.side): None for query in queries for n in query.neighbours}
        vectors = self._vectors.get(list(distinct), progress=progress)
        numbers = sorted({query.procedure for query in queries if query.neighbours})
        encoded = _encode_texts(self._encoder, [procedures[number] for number in numbers])
        texts = dict(zip(numbers, encoded, strict=True))
        scores: list[list[float]] = []
        for query in queries:
            if not query.neighbours:
                scores.append([])
                continue
            stems, words = texts[query.procedure]
            # Mentions of the entity itself are no evidence for its neighbours.
            words = words[[stem not in query.stems for stem in stems]]
            table = np.stack([vectors[n.triple, n.side] for n in query.neighbours])
            # Rounded, so that floating-point noise does not decide.
            scores.append([round(float(score), 4) for score in best_cosine(table, words)])
        return scores


def _rank(query: _Query, scores: Sequence[float]) -> tuple[Retrieved, ...]:
    """Rank a query's neighbours, given the score of each in context."""
    n_exact = len(query.exact)
    exact = sorted(
        zip(query.exact, scores[:n_exact], strict=True),
        key=lambda found: _exact_order(found[0][0].triple, found[0][1], found[1]),
    )
    others = sorted(
        zip(query.others, scores[n_exact:], strict=True),
        key=lambda found: _fuzzy_order(found[0].triple, found[1]),
    )
    return (
        *(Retrieved(n.triple, Match.EXACT, n.triple.weight) for (n, _), _ in exact),
        *(Retrieved(n.triple, Match.FUZZY, score) for n, score in others),
    )


def _encode_texts(
    encoder: Encoder, procedures: Sequence[Procedure]
) -> list[tuple[list[str], NDArray[np.float32]]]:
    """Return stems and vectors of the content words of each text, encoded as a whole."""
    texts = [[w.text for step in p.steps for w in step.words] for p in procedures]
    encoded = []
    for words, vectors in zip(texts, encoder.encode(texts), strict=True):
        content = [i for i, word in enumerate(words) if is_content(word)]
        encoded.append(([stem(words[i].lower()) for i in content], vectors[content]))
    return encoded


def retrieve_triples(
    procedures: Sequence[Procedure],
    *,
    store: str | Path | None = None,
    n_triples: int = N_TRIPLES,
    has_fuzzy: bool = True,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Triples:
    """Retrieve triples from a store (default: $KOALA_STORE, else the bundled one)."""
    encoder = open_encoder(threads=n_threads) if has_fuzzy else None
    retriever = Retriever(Store.open_cached(store), encoder, n_triples=n_triples)
    found = retriever.retrieve(procedures, progress=progress)
    return [tuple(tuple(one.triple for one in group) for group in groups) for groups in found]


def measure_overlap(neighbour: Neighbour, named: frozenset[str]) -> Overlap:
    """Return the share and number of the neighbour's content stems that are in `named`."""
    stems = neighbour.stems
    n_named = sum(1 for stem in stems if stem in named)
    return (n_named / len(stems) if stems else 0.0), n_named


def is_exact(neighbour: Neighbour, overlap: Overlap) -> bool:
    """Return whether the weight suffices and half of the neighbour's stems are in the text."""
    return neighbour.triple.weight >= LEAST_WEIGHT and overlap[0] >= LEAST_OVERLAP


def best_cosine(neighbours: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return for each neighbour (n, width) its highest cosine with any word (words, width)."""
    if not len(words):
        return np.zeros(len(neighbours), dtype=np.float32)
    cosines: NDArray[np.float32] = _unit(neighbours) @ _unit(words).T
    return np.asarray(cosines.max(axis=1), dtype=np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


def _exact_order(triple: Triple, overlap: Overlap, score: float) -> tuple[object, ...]:
    is_vague = triple.relation == "RelatedTo"
    share, n_named = overlap
    name = triple.head, triple.relation, triple.tail
    return (-triple.weight, is_vague, -share, -n_named, -score, *name)


def _fuzzy_order(triple: Triple, score: float) -> tuple[object, ...]:
    return (-score, -triple.weight, triple.head, triple.relation, triple.tail)


def _stems_of_text(procedure: Procedure) -> frozenset[str]:
    parts = [procedure.question, *(step.text for step in procedure.steps)]
    return frozenset(stem for part in parts for stem in stem_content(part))


def _stem_all(name: str) -> tuple[str, ...]:
    """Stem a name that has only stop words: "top" is one, and may still be an entity."""
    return tuple(stem(word) for word in name.lower().split())
