"""Scores of found entities against gold ones: by their names, and by the grids tracked for them.

The *head* of a name is the Porter stem of the last word before its first preposition: that of
"Layers of sediment" is *layer*. A found and a gold entity may match if any of their aliases have
the same head. Each is matched at most once, pairs with the most words in common first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from koala.document import split_aliases
from koala.errors import KoalaError
from koala.evaluation.bootstrap import Comparison, check_ids, find_interval, sample_procedures
from koala.evaluation.document import DocumentScores, score_document
from koala.evaluation.scores import PRF, build_signature, digest
from koala.grid import EMPTY, Grid, Row
from koala.grid.states import ABSENT
from koala.text.nlp import stem

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_PREPOSITIONS = frozenset(
    {"around", "at", "between", "by", "for", "from", "in", "inside", "into", "of", "on", "that"}
    | {"through", "to", "under", "which", "with"}
)

Names = Sequence[str]


@lru_cache(maxsize=65536)
def find_heads(name: str) -> frozenset[str]:
    """Give the heads of a name's aliases.

    >>> sorted(find_heads("Layers of sediment; the sediments"))
    ['layer', 'sediment']
    """
    return frozenset(head for alias in split_aliases(name) if (head := _find_head(alias)))


def _find_head(alias: str) -> str:
    words = [word for word in _WORD.findall(alias.lower()) if not word.isdigit()]
    end = next((i for i, word in enumerate(words) if i and word in _PREPOSITIONS), len(words))
    return stem(words[end - 1]) if words else ""


@lru_cache(maxsize=65536)
def _stems(name: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(name.lower()))


def match_names(found: Names, gold: Names) -> dict[int, int]:
    """Map the index of each matched gold name to the index of the found name."""
    pairs = []
    for i, one in enumerate(found):
        for j, other in enumerate(gold):
            if one == other or find_heads(one) & find_heads(other):
                mine, theirs = _stems(one), _stems(other)
                alike = 2.0 if one == other else len(mine & theirs) / len(mine | theirs)
                pairs.append((-alike, j, i))
    matched: dict[int, int] = {}
    for _, j, i in sorted(pairs):
        if j not in matched and i not in matched.values():
            matched[j] = i
    return matched


@dataclass(frozen=True, slots=True)
class DiscoveryScores:
    """Counts of matched, found and gold entities of every procedure."""

    per_procedure: Mapping[str, tuple[int, int, int]]
    """Matched, found and gold."""
    found: str
    """Fingerprint of the found names."""
    signature: str

    @property
    def counts(self) -> NDArray[np.int64]:
        """(procedures, 3): matched, found and gold."""
        return np.array(list(self.per_procedure.values()), dtype=np.int64).reshape(-1, 3)

    @property
    def score(self) -> PRF:
        """Precision, recall and F1 over all entities of all procedures."""
        matched, found, gold = (int(n) for n in self.counts.sum(axis=0))
        return PRF(matched / found if found else 1.0, matched / gold if gold else 1.0)

    def to_dict(self) -> dict[str, float]:
        """Give plain values."""
        matched, found, gold = (int(n) for n in self.counts.sum(axis=0))
        return {**self.score.to_dict(), "matched": matched, "found": found, "gold": gold}


def score_entities(found: Mapping[str, Names], gold: Mapping[str, Names]) -> DiscoveryScores:
    """Score found names against gold ones, both by procedure."""
    if found.keys() != gold.keys():
        odd = ", ".join(sorted(found.keys() ^ gold.keys())[:5])
        raise KoalaError(f"Found and gold entities belong to different procedures: {odd}.")
    per_procedure = {
        id: (len(match_names(found[id], gold[id])), len(found[id]), len(gold[id])) for id in gold
    }
    prints = [
        digest(f"{id}\t{name}" for id, names in each.items() for name in names)
        for each in (found, gold)
    ]
    signature = build_signature("participants-head", len(gold), gold=prints[1], found=prints[0])
    return DiscoveryScores(per_procedure, prints[0], signature)


def compare_entities(
    one: DiscoveryScores, other: DiscoveryScores, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two ways to find entities by their F1."""
    ids = check_ids(one.per_procedure, other.per_procedure)
    sampled = sample_procedures(len(ids), samples, seed)
    counts = np.array([other.per_procedure[id] for id in ids])
    low, high = find_interval(_resample_f1(one.counts, sampled) - _resample_f1(counts, sampled))
    signature = build_signature(
        "paired-bootstrap", len(ids), other=other.found, samples=samples, seed=seed
    )
    return Comparison(one.score.f1 - other.score.f1, low, high, samples, signature)


def _resample_f1(counts: NDArray[np.int64], sampled: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the F1 of every bootstrap sample: 2 · matched / (found + gold)."""
    matched, found, gold = np.moveaxis(counts[sampled].sum(axis=1), -1, 0)
    return np.asarray(2 * matched / np.maximum(found + gold, 1))


def score_found(found: Mapping[str, Grid], gold: Mapping[str, Grid]) -> DocumentScores:
    """Score grids of found entities at document level; entities without a match are errors."""
    missing = [id for id in gold if id not in found]
    if missing:
        raise KoalaError(f"The predictions do not fit the gold grids: {missing[0]} is missing.")
    aligned = {id: align_grid(found[id], grid) for id, grid in gold.items()}
    return score_document(aligned, {id: pad_gold(g, aligned[id]) for id, g in gold.items()})


def align_grid(found: Grid, gold: Grid) -> Grid:
    """Rename found rows to the gold rows they match, so that the two grids can be scored.

    A gold entity without a match gets a row without changes, so all its gold answers are missed. A
    found entity without a match keeps its row, but its name and locations are changed so that they
    match nothing: all answers it gives are wrong. If nothing ever happens to it, it gives no
    answers and costs nothing, as in the official scorer.
    """
    matched = match_names(found.names, gold.names)
    rows = [
        replace(found.rows[matched[number]], name=name)
        if number in matched
        else _build_empty(name, found)
        for number, name in enumerate(gold.names)
    ]
    extra = [row for number, row in enumerate(found.rows) if number not in matched.values()]
    rows += [_mark(row, f"not gold {number}") for number, row in enumerate(extra, 1)]
    return replace(found, rows=tuple(rows))


def pad_gold(gold: Grid, aligned: Grid) -> Grid:
    """Add a row without changes for every found entity without a match."""
    names = [name for name in aligned.names if name not in gold.names]
    return replace(gold, rows=(*gold.rows, *(_build_empty(name, gold) for name in names)))


def _build_empty(name: str, grid: Grid) -> Row:
    return Row(name, (EMPTY,) * len(grid.steps))


def _mark(row: Row, mark: str) -> Row:
    """Change the name and the locations of a row so that they equal no others."""

    def change(text: str) -> str:
        # `;`, AND and OR would separate alternatives when a name or a location is scored.
        return f"{mark} {text.replace(';', ',').lower()}"

    locations = [location if location == ABSENT else change(location) for location in row.locations]
    return Row.from_locations(change(row.name), locations)
