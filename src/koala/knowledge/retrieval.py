"""Retrieve the ten best triples for an entity in a procedure: Algorithm 1 of the paper.

The entity's one-hop subgraph is split in two. *Exact* matches: the neighbour concept occurs in the
question or the text. *Fuzzy* matches: all others, scored by the highest cosine between the
neighbour, encoded in the triple's sentence, and a content word of the text, encoded in its context.
Exact matches come first, by weight, then fuzzy matches, by score.
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
    exact: tuple[Retrieved, ...]
    others: tuple[Neighbour, ...]


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
        fuzzy = iter(self._rank_fuzzy(procedures, queries, progress))
        found = iter([(*query.exact, *next(fuzzy))[: self._n_triples] for query in queries])
        return [tuple(next(found) for _ in procedure.entities) for procedure in procedures]

    def _build_query(self, number: int, procedure: Procedure, entity: Entity) -> _Query:
        aliases = [stem_content(alias) or _stem_all(alias) for alias in entity.aliases]
        own = frozenset(each for stems in aliases for each in stems)
        named = _stems_of_text(procedure) - own
        exact: list[Retrieved] = []
        others: list[Neighbour] = []
        for neighbour in self._store.find_neighbours(aliases):
            if is_exact(neighbour, named):
                triple = neighbour.triple
                exact.append(Retrieved(triple, Match.EXACT, triple.weight))
            else:
                others.append(neighbour)
        exact.sort(key=_exact_order)
        if self._vectors is None or len(exact) >= self._n_triples:
            others = []
        return _Query(number, own, tuple(exact), tuple(others))

    def _rank_fuzzy(
        self, procedures: Sequence[Procedure], queries: Sequence[_Query], progress: Progress | None
    ) -> list[list[Retrieved]]:
        """Rank each query's other neighbours; queries with enough exact matches have none."""
        if self._vectors is None or self._encoder is None:
            return [[] for _ in queries]
        distinct = {(n.triple, n.side): None for query in queries for n in query.others}
        vectors = self._vectors.get(list(distinct), progress=progress)
        numbers = sorted({query.procedure for query in queries if query.others})
        encoded = _encode_texts(self._encoder, [procedures[number] for number in numbers])
        texts = dict(zip(numbers, encoded, strict=True))
        ranked: list[list[Retrieved]] = []
        for query in queries:
            if not query.others:
                ranked.append([])
                continue
            stems, words = texts[query.procedure]
            # Mentions of the entity itself are no evidence for its neighbours.
            words = words[[stem not in query.stems for stem in stems]]
            table = np.stack([vectors[n.triple, n.side] for n in query.others])
            found = (
                Retrieved(n.triple, Match.FUZZY, float(score))
                for n, score in zip(query.others, best_cosine(table, words), strict=True)
            )
            ranked.append(sorted(found, key=_fuzzy_order))
        return ranked


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


def is_exact(neighbour: Neighbour, named: frozenset[str]) -> bool:
    """Return whether the weight suffices and half of the neighbour's stems are in `named`."""
    stems = neighbour.stems
    if neighbour.triple.weight < LEAST_WEIGHT or not stems:
        return False
    return sum(1 for stem in stems if stem in named) / len(stems) >= LEAST_OVERLAP


def best_cosine(neighbours: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return for each neighbour (n, width) its highest cosine with any word (words, width)."""
    if not len(words):
        return np.zeros(len(neighbours), dtype=np.float32)
    cosines: NDArray[np.float32] = _unit(neighbours) @ _unit(words).T
    return np.asarray(cosines.max(axis=1), dtype=np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


def _exact_order(found: Retrieved) -> tuple[object, ...]:
    triple = found.triple
    is_vague = triple.relation == "RelatedTo"
    return (-triple.weight, is_vague, triple.head, triple.relation, triple.tail)


def _fuzzy_order(found: Retrieved) -> tuple[object, ...]:
    triple = found.triple
    # Rounded, so that floating-point noise does not decide.
    return (-round(found.score, 4), -triple.weight, triple.head, triple.relation, triple.tail)


def _stems_of_text(procedure: Procedure) -> frozenset[str]:
    parts = [procedure.question, *(step.text for step in procedure.steps)]
    return frozenset(stem for part in parts for stem in stem_content(part))


def _stem_all(name: str) -> tuple[str, ...]:
    """Stem a name that has only stop words: "top" is one, and may still be an entity."""
    return tuple(stem(word) for word in name.lower().split())
