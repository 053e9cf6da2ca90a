"""Found entities against gold ones: by their head nouns, and through the whole tracker.

A name's *head* is the last word before its first preposition, as its Porter stem: "Layers of
sediment" has *layer*. A found and a gold entity may be one if any of their aliases have the same
head. Each is matched at most once, pairs with the most words in common first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from koala.document import split_aliases
from koala.errors import KoalaError
from koala.evaluation.bootstrap import LEAST, Comparison
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
    """Give for every matched gold name, by its number, the number of the found one."""
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
    """How many entities were found, wanted and both, for every procedure."""

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
        raise KoalaError(f"Found and gold entities are of different procedures: {odd}.")
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
    """Draw procedures with replacement, the same for both, and score each draw."""
    if one.per_procedure.keys() != other.per_procedure.keys():
        raise KoalaError("The two were scored on different procedures.")
    n = len(one.per_procedure)
    if n < LEAST:
        raise KoalaError(f"{n} procedure(s) tell nothing of a difference; {LEAST} are needed.")
    # (samples, procedures)
    sampled = np.random.default_rng(seed).integers(n, size=(samples, n))
    counts = np.array([other.per_procedure[id] for id in one.per_procedure])
    difference = _draw_f1(one.counts, sampled) - _draw_f1(counts, sampled)
    low, high = np.quantile(difference, [0.025, 0.975])
    signature = build_signature(
        "paired-bootstrap", n, other=other.found, samples=samples, seed=seed
    )
    return Comparison(one.score.f1 - other.score.f1, float(low), float(high), samples, signature)


def _draw_f1(counts: NDArray[np.int64], sampled: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the F1 of every draw; matched twice over found and gold is the harmonic mean."""
    matched, found, gold = np.moveaxis(counts[sampled].sum(axis=1), -1, 0)
    return np.asarray(2 * matched / np.maximum(found + gold, 1))


def score_found(found: Mapping[str, Grid], gold: Mapping[str, Grid]) -> DocumentScores:
    """Score grids of found entities at document level, unmatched ones counted as errors."""
    missing = [id for id in gold if id not in found]
    if missing:
        raise KoalaError(f"The predictions do not fit the gold grids: {missing[0]} is missing.")
    aligned = {id: align_grid(found[id], grid) for id, grid in gold.items()}
    return score_document(aligned, {id: pad_gold(g, aligned[id]) for id, g in gold.items()})


def align_grid(found: Grid, gold: Grid) -> Grid:
    """Give found rows the names of the gold rows they match, so that the two can be scored.

    A gold entity that was not found gets a row where nothing happens: all answers it has in gold
    are missed. A found entity that is not gold keeps its row, but its name and its places are made
    to equal nothing else: all answers it gives are wrong. If nothing ever happens to it, it answers
    nothing and costs nothing, as for the official scorer.
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
    """Add a row where nothing happens for every found entity that is not gold."""
    names = [name for name in aligned.names if name not in gold.names]
    return replace(gold, rows=(*gold.rows, *(_build_empty(name, gold) for name in names)))


def _build_empty(name: str, grid: Grid) -> Row:
    return Row(name, (EMPTY,) * len(grid.steps))


def _mark(row: Row, mark: str) -> Row:
    """Change the name and the places of a row so that they equal no others."""

    def change(text: str) -> str:
        # These part a name or a place into alternatives when it is scored: `;`, AND and OR.
        return f"{mark} {text.replace(';', ',').lower()}"

    locations = [location if location == ABSENT else change(location) for location in row.locations]
    return Row.from_locations(change(row.name), locations)
