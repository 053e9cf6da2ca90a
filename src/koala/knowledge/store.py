"""Store: everything ConceptNet says about an entity, from a file that opens at once."""

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

PACK = Path(__file__).parent / "pack" / "conceptnet-5.6.store"
"""The store that koala brings; `pack/README.md` says where it is from and how it is rebuilt."""

VARIABLE = "KOALA_STORE"
"""Environment variable that names another store."""

LEAST_SIMILARITY = 0.5
"""A phrase is about concepts at least so similar to it (section 4.3.1 of the paper)."""

TRIPLES = "triples"
"""A table of the file: the key of a concept → lines of triples, one concept of each below it.

A line has the concept, `h` or `t` for its side with the relation, the other concept, and then
given or estimated, both parts of speech and the weight: `leaf, hPartOf, plant, en-2.0`.
"""

WORDS = "words"
"""A table of the file: a stem → the keys of several stems that hold it."""

Side = Literal["head", "tail"]

_POS = {"-": None, "n": "n", "v": "v", "a": "a", "r": "r"}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A triple about an entity, with the concept at its other end."""

    triple: Triple
    entity_side: Side
    """Where the concept that matches the entity stands."""

    @property
    def side(self) -> Side:
        """Where the neighbour stands."""
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
    """Assertions that passed the pruning, duplicates counted."""


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """What is in a store."""

    triples: int
    concepts: int
    estimates: int
    """Triples whose weight is an estimate."""
    relations: dict[str, int]
    sources: tuple[Source, ...]

    @property
    def estimated_share(self) -> float:
        """The share of triples whose weight is an estimate, from 0 to 1."""
        return self.estimates / self.triples if self.triples else 0.0


_MOST_KNOWN = 256
"""Entities whose triples are kept: *water* comes again in the next text. Some 50 kB each."""


def _find(path: str | Path | None) -> Path:
    """Find a store: this one, else the one that KOALA_STORE names, else koala's own."""
    named = os.environ.get(VARIABLE)
    if path is None and named and not Path(named).exists():
        raise FileError(named, f"no such store; the variable {VARIABLE} names it.")
    return Path(path or named or PACK)


@lru_cache(maxsize=2)
def _open_once(path: Path, _version: tuple[int, int] | None) -> "Store":
    return Store.open(path)


class Store:
    """Triples by the stems of their concepts. May be used from several threads and processes."""

    def __init__(self, file: BlockFile) -> None:
        self._file = file
        self._facts = file.read_facts()
        self._known: BoundedCache[tuple[tuple[str, ...], ...], list[Neighbour]] = BoundedCache(
            _MOST_KNOWN
        )

    @classmethod
    def open(cls, path: str | Path | None = None) -> Self:
        """Open a store: this one, else the one that KOALA_STORE names, else koala's own."""
        return cls(BlockFile(_find(path)))

    @classmethod
    def keep_open(cls, path: str | Path | None = None) -> "Store":
        """Open a store for the rest of the process; the same one again if it has not changed."""
        found = _find(path)
        status = found.stat() if found.is_file() else None
        return _open_once(found, (status.st_mtime_ns, status.st_size) if status else None)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def signature(self) -> str:
        """Twelve hexadecimal digits that change when a triple or its stems do, and only then."""
        return self._facts["signature"]

    def statistics(self) -> StoreStatistics:
        """Count what is in the store."""
        facts: dict[str, Any] = json.loads(self._facts["statistics"])
        sources = tuple(Source(**source) for source in facts.pop("sources"))
        return StoreStatistics(**facts, sources=sources)

    def about(self, aliases: Iterable[Sequence[str]]) -> list[Neighbour]:
        """Give all triples about an entity, by weight; each once, from its more similar side.

        An alias is the stems of a name. One stem matches the concepts of that stem alone, several
        match concepts whose stems have a Jaccard similarity of at least one half. The entity is
        the head, or either side where the relation allows it, and a noun where that is known.

        >>> store.about([("carbon", "dioxid"), ("co2",)])  # doctest: +SKIP
        """
        name = tuple(tuple(_check(alias)) for alias in aliases)
        known = self._known.get(name)
        if known is None:
            known = self._find_about(name)
            self._known[name] = known
        return list(known)

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
        """Give every triple, in an order that stays."""
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
        """Find the keys that match one of the aliases, with their similarity."""
        best: dict[str, float] = {}
        for alias in aliases:
            for key, similarity in self._compare(frozenset(alias)):
                best[key] = max(similarity, best.get(key, 0.0))
        return best

    def _compare(self, stems: frozenset[str]) -> Iterator[tuple[str, float]]:
        """Give the keys that are similar enough to a name, with their Jaccard similarity."""
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
        raise TypeError(f"An alias is a sequence of stems, the string {alias!r} came.")
    return alias


def build_key(stems: Iterable[str]) -> str:
    """Join the stems of a concept to what it is found by: each once, sorted."""
    return " ".join(sorted(set(stems)))


def format_rest(weight: float, is_estimate: bool, pos: str | None, other_pos: str | None) -> str:
    """Write the end of an entry's line: given or estimated, both parts of speech, the weight.

    >>> format_rest(2.0, True, "n", None)
    'en-2.0'
    """
    return f"{'e' if is_estimate else 'g'}{pos or '-'}{other_pos or '-'}{weight}"


def parse_entry(line: str) -> tuple[Triple, Side, str | None]:
    """Read a line: the triple, side and part of speech of the concept that it stands under.

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
