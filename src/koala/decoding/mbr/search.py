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

from koala.decoding import Names
from koala.decoding.mbr.consistency import weigh
from koala.decoding.sampling import build_rows, sample_trajectories
from koala.grid import Grid, Row
from koala.network.output import Output

_N_SAMPLED = 8000
"""Grids that are drawn."""
_N_SAMPLES = 1200
"""Of those, by how well lives go together, the ones that stand for the truth."""
_N_STARTS = 20
"""Of those, the ones kept most often, from which the search may begin."""
_N_TRAJECTORIES = 40
"""Of each entity, those drawn most often, that are tried."""
_N_CELLS = 150
"""Of larger grids fewer lives are drawn and tried, so that time grows with the grid and not with
its square; all of ProPara's train and dev are smaller, 80 at most."""
_LEAST_SHARE = 0.1
_N_ROUNDS = 3
_GAIN = 1e-9
"""What counts as a gain: sums of the same numbers in another order differ by less."""

Rows = tuple[Row, ...]

BuildUtility = Callable[[Sequence[Grid]], Callable[[Grid], float]]
"""Equally probable truths in, a function that gives the mean score of a grid against them out."""


def choose_trajectories(
    output: Output,
    likeliest: Sequence[Row],
    names: Names,
    *,
    utility: BuildUtility,
    consistency: Mapping[str, float],
    n_samples: int = _N_SAMPLES,
) -> list[Row]:
    """Choose a row for every entity of a procedure; `likeliest` are the Viterbi rows.

    `consistency` holds the weights of cross-entity consistency.
    """
    share = _N_CELLS / (len(likeliest) * len(likeliest[0].steps))
    share = max(_LEAST_SHARE, min(1.0, share))
    sampled = sample_grids(
        output,
        [row.name for row in likeliest],
        names,
        math.ceil(share * n_samples),
        n_sampled=math.ceil(share * _N_SAMPLED),
        consistency=consistency,
    )
    score_grid = utility([_build_grid(rows) for rows in sampled])

    def score(rows: Rows) -> float:
        return score_grid(_build_grid(rows))

    best_locations = [
        [names[n] for n in output.location_scores(index).argmax(-1)] for index in range(len(output))
    ]
    pairs = zip(zip(*sampled, strict=True), best_locations, strict=True)
    n_trajectories = math.ceil(share * _N_TRAJECTORIES)
    options = [_find_trajectories(rows, best)[:n_trajectories] for rows, best in pairs]
    starts = (rows for rows, _ in Counter(sampled).most_common(_N_STARTS))
    return list(_climb(max((tuple(likeliest), *starts), key=score), options, score))


def sample_grids(
    output: Output,
    entities: Sequence[str],
    names: Names,
    n: int,
    *,
    consistency: Mapping[str, float],
    n_sampled: int | None = None,
    seed: int = 0,
) -> list[Rows]:
    """Sample `n` grids of a procedure from the posterior: a row for every entity.

    Trajectories of each entity are sampled independently, more than needed; the grids they form are
    resampled by their cross-entity consistency.
    """
    n_sampled = n_sampled or max(n, _N_SAMPLED)
    seen: Counter[str] = Counter()
    alone = []
    for index, name in enumerate(entities):
        rng = _build_rng(name, seen[name], seed)
        alone.append(sample_trajectories(output, index, n_sampled, rng))
        seen[name] += 1
    # (samples, entities, steps + 1)
    trajectories = np.stack(alone, axis=1)
    # Systematic resampling: as many of each as its weight asks for, but for rounding.
    marks = (np.arange(n) + 0.5) / n
    weights = weigh(trajectories, consistency)
    chosen = trajectories[np.searchsorted(weights.cumsum(), marks).clip(max=n_sampled - 1)]
    rows = [build_rows(chosen[:, number], name, names) for number, name in enumerate(entities)]
    return list(zip(*rows, strict=True))


def _climb(
    rows: Rows, trajectories: Sequence[Sequence[Row]], score: Callable[[Rows], float]
) -> Rows:
    """Exchange one row at a time for a better one, until there is none."""
    best = score(rows)
    for _ in range(_N_ROUNDS):
        before = rows
        for entity in sorted(range(len(rows)), key=lambda number: rows[number].name):
            for trajectory in trajectories[entity]:
                changed = (*rows[:entity], trajectory, *rows[entity + 1 :])
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


def _find_trajectories(sampled: Sequence[Row], locations: Sequence[str]) -> list[Row]:
    """Give the lives to try, best first: what was drawn, also with the best place everywhere."""
    found = Counter(sampled)
    for row, n in list(found.items()):
        found[Row.from_tags(row.name, row.tags, locations)] += n
    return [row for row, _ in found.most_common(_N_TRAJECTORIES)]


def _build_grid(rows: Rows) -> Grid:
    return Grid("", ("",) * len(rows[0].steps), rows)
