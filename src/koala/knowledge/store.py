"""Store: ConceptNet's triples about an entity, from an indexed file that opens instantly."""

import itertools
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from koala.cache import BoundedCache
from koala.errors import FileError
from koala.knowledge.blocks import BlockFile
from koala.knowledge.triple import Triple
from koala.text.nlp import stem_content

BUNDLED_STORE = Path(__file__).parent / "pack" / "conceptnet-5.6.store"
"""The bundled store; `pack/README.md` describes its origin and how to rebuild it."""

VARIABLE = "KOALA_STORE"
"""Environment variable with the path of another store."""

LEAST_SIMILARITY = 0.5
"""Minimum Jaccard similarity of a phrase and a matching concept (section 4.3.1 of the paper)."""

TRIPLES = "triples"
"""Table of the file: key of a concept → lines, one for each triple of a concept with this key.

A line has four tab-separated fields: the concept; its side (`h` or `t`) and the relation; the other
concept; and given or estimated (`g` or `e`), both parts of speech and the weight. Example:
`leaf, hPartOf, plant, en-2.0`.
"""

WORDS = "words"
"""Table of the file: stem → the keys of several stems that contain it."""

Side = Literal["head", "tail"]

_POS = {"-": None, "n": "n", "v": "v", "a": "a", "r": "r"}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A triple about an entity; the neighbour is the concept at the other end."""

    triple: Triple
    entity_side: Side
    """The side of the concept that matches the entity."""

    @property
    def side(self) -> Side:
        """The side of the neighbour."""
        return "tail" if self.entity_side == "head" else "head"

    @property
    def concept(self) -> str:
        """The concept that matches the entity."""
        return self.triple.head if self.entity_side == "head" else self.triple.tail

    @property
    def text(self) -> str:
        """The neighbour concept."""
        return self.triple.tail if self.entity_side == "head" else self.triple.head

    @property
    def stems(self) -> tuple[str, ...]:
        """The stems of the neighbour's content words."""
        return stem_content(self.text)


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a store was built from."""

    name: str
    lines: int
    kept: int
    """Assertions left after pruning, including duplicates."""


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """Counts of a store's contents."""

    triples: int
    concepts: int
    estimates: int
    """Number of triples whose weight is an estimate."""
    relations: dict[str, int]
    sources: tuple[Source, ...]

    @property
    def estimated_share(self) -> float:
        """The share of triples whose weight is an estimate, from 0 to 1."""
        return self.estimates / self.triples if self.triples else 0.0


_CACHED_ENTITIES = 256
"""Cached results of `about`, since entities such as *water* recur; about 50 kB each."""


def _find(path: str | Path | None) -> Path:
    """Return the path of a store: `path`, else $KOALA_STORE, else the bundled store."""
    named = os.environ.get(VARIABLE)
    if path is None and named and not Path(named).exists():
        problem = f"no such store. Correct the environment variable {VARIABLE}, or unset it."
        raise FileError(named, problem)
    return Path(path or named or BUNDLED_STORE)


@lru_cache(maxsize=2)
def _open_once(path: Path, _version: tuple[int, int] | None) -> "Store":
    return Store.open(path)


class Store:
    """Triples by the stems of their concepts. Safe to use from several threads and processes."""

    def __init__(self, file: BlockFile) -> None:
        self._file = file
        self._metadata = file.read_metadata()
        self._known: BoundedCache[tuple[tuple[str, ...], ...], list[Neighbour]] = BoundedCache(
            _CACHED_ENTITIES
        )

    @classmethod
    def open(cls, path: str | Path | None = None) -> Self:
        """Open a store: `path`, else $KOALA_STORE, else the bundled store."""
        return cls(BlockFile(_find(path)))

    @classmethod
    def open_cached(cls, path: str | Path | None = None) -> "Store":
        """Open a store like `open`, but return the open one again while its file is unchanged."""
        found = _find(path)
        status = found.stat() if found.is_file() else None
        return _open_once(found, (status.st_mtime_ns, status.st_size) if status else None)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._file.path

    @property
    def signature(self) -> str:
        """Twelve hexadecimal digits that change if and only if a triple or its stems change."""
        return self._metadata["signature"]

    def statistics(self) -> StoreStatistics:
        """Return the counts of the store's contents."""
        counts: dict[str, Any] = json.loads(self._metadata["statistics"])
        sources = tuple(Source(**source) for source in counts.pop("sources"))
        return StoreStatistics(**counts, sources=sources)

    def find_neighbours(self, aliases: Iterable[Sequence[str]]) -> list[Neighbour]:
        """Return all triples about an entity, by weight; each once, from its more similar side.

        An alias is the stems of a name. A single stem matches concepts with exactly that stem;
        several stems match concepts with a Jaccard similarity of at least 0.5. The entity must be
        the head, or on either side if the relation allows it, and not known to be other than a
        noun.

        >>> store.about([("carbon", "dioxid"), ("co2",)])  # doctest: +SKIP
        """
        name = tuple(tuple(_check(alias)) for alias in aliases)
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._find_about(name)
        return list(found)

    def _find_about(self, aliases: tuple[tuple[str, ...], ...]) -> list[Neighbour]:
        found: dict[tuple[str, str, str], tuple[tuple[float, Side], Triple]] = {}
        for key, similarity in self._find_keys(aliases).items():
            for line in self._file.find(TRIPLES, key):
                triple, side, pos = parse_entry(line)
                if pos is None or pos == "n":
                    name = triple.head, triple.relation, triple.tail
                    rank = -similarity, side  # of two equally similar sides the head comes first
                    if name not in found or rank < found[name][0]:
                        found[name] = rank, triple
        neighbours = [Neighbour(triple, side) for (_, side), triple in found.values()]
        return sorted(neighbours, key=_order)

    def __iter__(self) -> Iterator[Triple]:
        """Yield every triple, always in the same order."""
        for _, lines in self._file.read_groups(TRIPLES):
            for line in lines:
                triple, side, _ = parse_entry(line)
                if side == "head":
                    yield triple

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Store.open, (self.path,)

    def _find_keys(self, aliases: Iterable[Sequence[str]]) -> dict[str, float]:
        """Return the keys that match an alias, with their highest similarity."""
        best: dict[str, float] = {}
        for alias in aliases:
            for key, similarity in self._compare(frozenset(alias)):
                best[key] = max(similarity, best.get(key, 0.0))
        return best

    def _compare(self, stems: frozenset[str]) -> Iterator[tuple[str, float]]:
        """Yield the keys that match a name's stems, with their Jaccard similarity."""
        if len(stems) == 1:
            yield from ((stem, 1.0) for stem in stems)
            return
        keys = itertools.chain.from_iterable(self._file.find(WORDS, stem) for stem in stems)
        for key, n_common in itertools.chain(Counter(keys).items(), ((s, 1) for s in stems)):
            similarity = n_common / (len(stems) + key.count(" ") + 1 - n_common)
            if similarity >= LEAST_SIMILARITY:
                yield key, similarity


def _check(alias: Sequence[str]) -> Sequence[str]:
    if isinstance(alias, str):
        raise TypeError(f"An alias must be a sequence of stems, not the string {alias!r}.")
    return alias


def build_key(stems: Iterable[str]) -> str:
    """Join the distinct stems of a concept, sorted, to the key it is found by."""
    return " ".join(sorted(set(stems)))


def format_rest(weight: float, is_estimate: bool, pos: str | None, other_pos: str | None) -> str:
    """Format the last field of a line: given or estimated, both parts of speech, the weight.

    >>> format_rest(2.0, True, "n", None)
    'en-2.0'
    """
    return f"{'e' if is_estimate else 'g'}{pos or '-'}{other_pos or '-'}{weight}"


def parse_entry(line: str) -> tuple[Triple, Side, str | None]:
    """Parse a line into the triple, and side and part of speech of the line's own concept.

    >>> triple, side, pos = parse_entry("leaf\\thPartOf\\tplant\\ten-2.0")
    >>> triple.sentence, side, pos
    ('leaf is a part of plant', 'head', 'n')
    """
    concept, code, other, rest = line.split("\t")
    pos, other_pos = _POS[rest[1]], _POS[rest[2]]
    weight, is_estimate, relation = float(rest[3:]), rest[0] == "e", code[1:]
    if code[0] == "h":
        return Triple(concept, relation, other, weight, is_estimate, pos, other_pos), "head", pos
    return Triple(other, relation, concept, weight, is_estimate, other_pos, pos), "tail", pos


def _order(neighbour: Neighbour) -> tuple[float, str, str, str]:
    triple = neighbour.triple
    return -triple.weight, triple.head, triple.relation, triple.tail
