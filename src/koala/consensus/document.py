"""By the document level of ProPara.

The search begins with the best of the most probable lives and of some grids that were drawn; one
entity after the other, by name, takes the life that gains most, until none gains. So nothing
depends on the order in which entities are named.
"""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from koala.consensus.coherence import WEIGHTS, weigh
from koala.decoding import Output
from koala.decoding.sampling import build_rows, sample_lives
from koala.evaluation.expectation import Expectation
from koala.grid import Grid, Row

_N_DRAWN = 8000
"""Grids that are drawn."""
_N_SAMPLES = 1200
"""Of those, by how well lives go together, the ones that stand for the truth."""
_N_STARTS = 20
"""Of those, the ones kept most often, from which the search may begin."""
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
    weights: Mapping[str, float] = WEIGHTS,
) -> list[Row]:
    """Choose a row for every entity; `likeliest` are the most probable ones.

    `weights` say how lives go together (`coherence`).
    """
    share = _N_CELLS / (len(likeliest) * len(likeliest[0].steps))
    share = max(_LEAST_SHARE, min(1.0, share))
    drawn = draw_lives(
        output,
        indices,
        [row.name for row in likeliest],
        names,
        math.ceil(share * n_samples),
        n_drawn=math.ceil(share * _N_DRAWN),
        weights=weights,
    )
    expectation = Expectation([_build_grid(rows) for rows in drawn])

    def score(rows: Rows) -> float:
        expected = expectation.score(_build_grid(rows))
        return (1 - _RECALL) * expected.precision + _RECALL * expected.recall

    best_places = [[names[n] for n in output.place_scores(index).argmax(-1)] for index in indices]
    pairs = zip(zip(*drawn, strict=True), best_places, strict=True)
    n_lives = math.ceil(share * _N_LIVES)
    lives = [_find_lives(rows, places)[:n_lives] for rows, places in pairs]
    starts = (rows for rows, _ in Counter(drawn).most_common(_N_STARTS))
    return list(_climb(max((tuple(likeliest), *starts), key=score), lives, score))


def draw_lives(
    output: Output,
    indices: Sequence[int],
    entities: Sequence[str],
    names: tuple[str, ...],
    n: int,
    *,
    n_drawn: int | None = None,
    weights: Mapping[str, float] = WEIGHTS,
    seed: int = 0,
) -> list[Rows]:
    """Draw `n` grids of a procedure as probable as they are: a row for every entity.

    Lives of each entity alone, more of them than are wanted; of the grids that they make, those
    that go together are kept more often.
    """
    n_drawn = n_drawn or max(n, _N_DRAWN)
    seen: Counter[str] = Counter()
    alone = []
    for index, name in zip(indices, entities, strict=True):
        alone.append(sample_lives(output, index, n_drawn, _build_rng(name, seen[name], seed)))
        seen[name] += 1
    # (n drawn, entities, steps + 1)
    lives = np.stack(alone, axis=1)
    # As many of each as its weight asks for, but for rounding
    marks = (np.arange(n) + 0.5) / n
    kept = lives[np.searchsorted(weigh(lives, weights).cumsum(), marks).clip(max=n_drawn - 1)]
    rows = [build_rows(kept[:, number], name, names) for number, name in enumerate(entities)]
    return list(zip(*rows, strict=True))


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


def _build_rng(name: str, turn: int, seed: int) -> np.random.Generator:
    """Give draws of its own to each name, and each time it comes, the same in every process."""
    number = zlib.crc32(name.encode(errors="surrogatepass"))
    return np.random.default_rng((number, turn, seed))


def _find_lives(drawn: Sequence[Row], places: Sequence[str]) -> list[Row]:
    """Give the lives to try, best first: what was drawn, also with the best place everywhere."""
    found = Counter(drawn)
    for row, n in list(found.items()):
        found[Row.from_tags(row.name, row.tags, places)] += n
    return [row for row, _ in found.most_common(_N_LIVES)]


def _build_grid(rows: Rows) -> Grid:
    return Grid("", ("",) * len(rows[0].steps), rows)
