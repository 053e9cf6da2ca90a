"""By the document level of ProPara.

The search begins with the most probable lives; one entity after the other, by name, takes the life
that gains most, until none gains. So nothing depends on the order in which entities are named.
"""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from koala.decoding import Output
from koala.decoding.sampling import sample_rows
from koala.evaluation.expectation import Expectation
from koala.grid import Grid, Row

_N_SAMPLES = 300
"""Grids that stand for the truth."""
_N_LIVES = 40
"""Of each entity, those drawn most often, that are tried."""
_N_CELLS = 150
"""Of larger grids fewer lives are drawn and tried, so that time grows with the grid and not with
its square; all of ProPara's train and dev are smaller, 80 at most."""
_LEAST_SHARE = 0.1
_N_ROUNDS = 3
_RECALL = 0.6
"""Of recall beside precision. F1 is taken of their averages over a corpus, so it grows with each by
the square of the other: 0.59 for recall at the precision of 0.80 and recall of 0.67 that the best
published system has."""
_GAIN = 1e-9
"""What counts as a gain: sums of the same numbers in another order differ by less."""

Rows = tuple[Row, ...]


def choose_lives(
    output: Output,
    indices: Sequence[int],
    likeliest: Sequence[Row],
    names: tuple[str, ...],
    *,
    n_samples: int = _N_SAMPLES,
) -> list[Row]:
    """Choose a row for every entity; `likeliest` are the most probable ones."""
    share = _N_CELLS / (len(likeliest) * len(likeliest[0].steps))
    share = max(_LEAST_SHARE, min(1.0, share))
    n_samples = math.ceil(share * n_samples)
    drawn = [
        sample_rows(output, index, row.name, names, n_samples, _build_rng(row.name))
        for index, row in zip(indices, likeliest, strict=True)
    ]
    expectation = Expectation([_build_grid(rows) for rows in zip(*drawn, strict=True)])

    def score(rows: Rows) -> float:
        expected = expectation.score(_build_grid(rows))
        return (1 - _RECALL) * expected.precision + _RECALL * expected.recall

    best_places = [[names[n] for n in output.place_scores(index).argmax(-1)] for index in indices]
    pairs = zip(drawn, best_places, strict=True)
    n_lives = math.ceil(share * _N_LIVES)
    lives = [_find_lives(rows, places)[:n_lives] for rows, places in pairs]
    return list(_climb(tuple(likeliest), lives, score))


def _climb(rows: Rows, lives: Sequence[Sequence[Row]], score: Callable[[Rows], float]) -> Rows:
    """Exchange one row at a time for a better one, until there is none."""
    best = score(rows)
    for _ in range(_N_ROUNDS):
        before = rows
        for entity in sorted(range(len(rows)), key=lambda number: rows[number].name):
            for life in lives[entity]:
                changed = (*rows[:entity], life, *rows[entity + 1 :])
                reached = score(changed)
                if reached > best + _GAIN:
                    best, rows = reached, changed
        if rows == before:
            break
    return rows


def _build_rng(name: str) -> np.random.Generator:
    """Give draws of its own to each name, the same in every process."""
    return np.random.default_rng(zlib.crc32(name.encode(errors="surrogatepass")))


def _find_lives(drawn: Sequence[Row], places: Sequence[str]) -> list[Row]:
    """Give the lives to try, best first: what was drawn, also with the best place everywhere."""
    found = Counter(drawn)
    for row, n in list(found.items()):
        found[Row.from_tags(row.name, row.tags, places)] += n
    return [row for row, _ in found.most_common(_N_LIVES)]


def _build_grid(rows: Rows) -> Grid:
    return Grid("", ("",) * len(rows[0].steps), rows)
