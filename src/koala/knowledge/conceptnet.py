"""ConceptNet's files → a store: pruned, re-weighted, without duplicates.

English assertions of the paper's relations are written as lines under their concepts' stems and
sorted on disk, which brings duplicates together. Memory use does not grow with the files. The same
files always give the same bytes.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from koala.cache import BoundedCache
from koala.errors import FileError, KoalaError
from koala.files import check_outputs
from koala.knowledge.assertion import Assertion
from koala.knowledge.blocks import create, seal, write_blocks
from koala.knowledge.build_folder import open_build_folder
from koala.knowledge.sorting import Sorter
from koala.knowledge.sources import read_parts
from koala.knowledge.store import (
    TRIPLES,
    WORDS,
    Source,
    StoreStatistics,
    build_key,
    format_rest,
)
from koala.knowledge.triple import EITHER_SIDE
from koala.text.nlp import stem_content

DROPPED = frozenset({"uk", "us", "take", "make", "object", "person", "people"})
"""Uninformative concepts; their assertions are dropped."""

ADJUSTMENTS = {"RelatedTo": -0.3, "Antonym": -0.3, "AtLocation": 0.5}
"""Added to the weight: vague relations count less, locations more."""

Progress = Callable[[str, int, int], None]
"""Gets the name of the stage, how much of it is done, and its total (0: unknown)."""

_POS_ORDER = "n-arv"
_CACHE_SIZE = 1 << 18
_REPORT_EVERY = 1 << 16
_MENTION = "m"


def build_store(
    sources: Sequence[str | Path],
    output: str | Path,
    *,
    exclude_sources: Collection[str] = (),
    progress: Progress | None = None,
) -> StoreStatistics:
    """Build a store from ConceptNet's dump, TSV or JSON lines, gzipped or not; merge several files.

    Rows of a TSV all of whose sources are in `exclude_sources` are left out. A damaged, truncated
    or unrelated file raises an error, and an existing store at `output` is then left unchanged.
    """
    paths, output = [Path(source) for source in sources], Path(output)
    _check_call(paths, output)
    report = progress or (lambda *_: None)
    with open_build_folder(output) as folder:
        try:
            builder = _Builder(folder, report)
            read = tuple(_read_sources(paths, builder, frozenset(exclude_sources), report))
            statistics = builder.write(folder / "store", read)
            (folder / "store").replace(output)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FileError(output, f"cannot be written ({reason}).") from None
    return statistics


def _check_call(paths: Sequence[Path], output: Path) -> None:
    """Raise an error at once for calls that would fail only after a long time."""
    if not paths:
        raise KoalaError("No source given. Give ConceptNet's dump, a TSV or JSON lines.")
    check_outputs([output], paths)


def _read_sources(
    paths: Sequence[Path], builder: "_Builder", exclude: frozenset[str], report: Progress
) -> Iterator[Source]:
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    for number, path in enumerate(paths):
        n_lines = n_kept = 0
        for part in read_parts(path, exclude=exclude):
            n_kept += sum(map(builder.add, part.assertions))
            n_lines += part.n_lines
            report("Reading", sum(sizes[:number]) + part.done, sum(sizes))
        if not n_kept:
            problem = (
                f"no usable assertions: none of its {n_lines:,} lines is an English assertion of "
                "one of the paper's relations."
            )
            raise FileError(path, problem)
        yield Source(path.name, n_lines, n_kept)


class _Builder:
    """Collects assertions in any order, then writes the store."""

    def __init__(self, folder: Path, report: Progress) -> None:
        self._report = report
        self._entries = Sorter(folder, "entries")
        self._words = Sorter(folder, "words")
        self._stems: BoundedCache[str, tuple[str, str]] = BoundedCache(_CACHE_SIZE)
        self._mentioned: set[str] = set()
        self._relations: Counter[str] = Counter()
        self._n_concepts = 0
        self._n_estimates = 0

    def add(self, assertion: Assertion) -> bool:
        """Re-weight and add an assertion; return False if it is pruned instead."""
        head, relation, tail, weight, is_estimate, pos, other_pos = assertion
        if head in DROPPED or tail in DROPPED:
            return False
        (head_key, head_stems), (tail_key, tail_stems) = self._stem(head), self._stem(tail)
        if head_stems == tail_stems:
            return False
        rest, tail_rest = _format_rests(relation, weight, is_estimate, pos, other_pos)
        self._entries.add(f"{head_key}\t{head}\th{relation}\t{tail}\t{rest}\n")
        if relation in EITHER_SIDE:
            self._entries.add(f"{tail_key}\t{tail}\tt{relation}\t{head}\t{tail_rest}\n")
        elif tail not in self._mentioned:
            self._mention(tail_key, tail)
        return True

    def _stem(self, concept: str) -> tuple[str, str]:
        """Return key and stems of a concept."""
        found = self._stems.get(concept)
        if found is None:
            stems = stem_content(concept)
            found = self._stems[concept] = build_key(stems), " ".join(stems)
        return found

    def _mention(self, key: str, concept: str) -> None:
        """Record a concept that may have no entry of its own, so that it is counted."""
        if len(self._mentioned) >= _CACHE_SIZE:
            self._mentioned.clear()
        self._mentioned.add(concept)
        self._entries.add(f"{key}\t{concept}\t{_MENTION}\t\t\n")

    def write(self, path: Path, sources: tuple[Source, ...]) -> StoreStatistics:
        """Write the store and return its statistics."""
        with closing(create(path)) as connection:
            digest = write_blocks(connection, TRIPLES, self._merge_entries())
            words = (line[:-1].split("\t") for line in self._words.merge())
            write_blocks(connection, WORDS, ((stem, key) for stem, key in words))
            statistics = StoreStatistics(
                triples=self._relations.total(),
                concepts=self._n_concepts,
                estimates=self._n_estimates,
                relations={code[1:]: n for code, n in self._relations.most_common()},
                sources=sources,
            )
            metadata = {"signature": digest[:12], "statistics": json.dumps(asdict(statistics))}
            seal(connection, path, metadata)
        return statistics

    def _merge_entries(self) -> Iterator[tuple[str, str]]:
        """Yield key and line of every distinct entry, in order, and count them."""
        last_key = last_concept = None
        for name, rest in _merge_duplicates(self._read_entries()):
            key, concept, code, _ = name.split("\t")
            if concept != last_concept:  # equal concepts have equal keys
                last_concept = concept
                self._n_concepts += 1
            if code[0] == "h":
                self._relations[code] += 1
                self._n_estimates += rest[0] == "e"
            elif code[0] == _MENTION or rest[1] not in "n-":
                continue  # a tail that is not a noun is never matched; heads are always stored
            if key != last_key:
                last_key = key
                self._index(key)
            yield key, f"{name[len(key) + 1 :]}\t{rest}"

    def _read_entries(self) -> Iterator[str]:
        n_lines = len(self._entries)
        for number, line in enumerate(self._entries.merge()):
            if not number % _REPORT_EVERY:
                self._report("Writing", number, n_lines)
            yield line
        self._report("Writing", n_lines, n_lines)

    def _index(self, key: str) -> None:
        """Index a key of several stems by each of its stems."""
        stems = key.split(" ")
        if len(stems) > 1:
            for stem in stems:
                self._words.add(f"{stem}\t{key}\n")


@lru_cache(1 << 14)
def _format_rests(
    relation: str, weight: float, is_estimate: bool, pos: str | None, other_pos: str | None
) -> tuple[str, str]:
    """Re-weight and format the end of an entry, for the head and for the tail."""
    # ConceptNet's weights have three digits; a sum of floats has more.
    adjusted = round(weight + ADJUSTMENTS.get(relation, 0.0), 3)
    return (
        format_rest(adjusted, is_estimate, pos, other_pos),
        format_rest(adjusted, is_estimate, other_pos, pos),
    )


def _merge_duplicates(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield every distinct entry with its largest weight, as (name, rest)."""
    last, merged = None, ""
    for line in lines:
        name, _, rest = line[:-1].rpartition("\t")
        if name == last:
            merged = _merge_rests(merged, rest) if rest != merged else rest
            continue
        if last is not None:
            yield last, merged
        last, merged = name, rest
    if last is not None:
        yield last, merged


def _merge_rests(one: str, other: str) -> str:
    """Merge duplicates: prefer given weights to estimates, then larger ones; prefer nouns.

    An unknown part of speech comes second, because the concept may be a noun and can be matched.
    """
    best = max(one, other, key=lambda rest: (rest.startswith("g"), float(rest[3:])))
    pos, other_pos = (
        min(pair, key=_POS_ORDER.index) for pair in zip(one[1:3], other[1:3], strict=True)
    )
    return f"{best[0]}{pos}{other_pos}{best[3:]}"
