"""MBR decoding of ProPara: hill climbing on a utility's mean over sampled grids.

The search starts from the best of the Viterbi grid and the most frequent samples. Then one entity
after the other takes the trajectory that gains most, until none gains. Entities are visited in the
order of their names, so the result does not depend on the order in which they are given.
"""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from koala.decoding import Names
from koala.decoding.conditional import Fixes, build_chain
from koala.decoding.mbr.consistency import weigh
from koala.decoding.sampling import build_rows, sample_trajectories
from koala.grid import Grid, Row
from koala.network.output import Output

_N_SAMPLED = 8000
"""Sampled grids."""
_N_SAMPLES = 1200
"""Grids left after resampling by cross-entity consistency; they stand for the truth."""
_N_STARTS = 20
"""Most frequent of these, from which the search may start."""
_N_TRAJECTORIES = 40
"""Most frequent trajectories of each entity, which the search tries."""
_N_CELLS = 150
"""For grids with more cells, fewer trajectories are sampled and tried, so that time grows linearly
with the grid. Grids of ProPara's train and dev have at most 80."""
_LEAST_SHARE = 0.1
_N_ROUNDS = 3
_GAIN = 1e-9
"""Smallest gain; sums of the same numbers in another order differ by less."""

Rows = tuple[Row, ...]

BuildUtility = Callable[[Sequence[Grid]], Callable[[Grid], float]]
"""Takes equally probable truths; gives a function that scores a grid by its mean over them."""


def choose_trajectories(
    output: Output,
    likeliest: Sequence[Row],
    names: Names,
    *,
    utility: BuildUtility,
    consistency: Mapping[str, float],
    fixes: Sequence[Fixes] = (),
    n_samples: int = _N_SAMPLES,
) -> list[Row]:
    """Choose a row for every entity of a procedure; `likeliest` are the Viterbi rows.

    `consistency` holds the weights of `koala.decoding.mbr.consistency`.
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
        fixes=fixes,
    )
    score_grid = utility([_build_grid(rows) for rows in sampled])

    def score(rows: Rows) -> float:
        return score_grid(_build_grid(rows))

    best_locations = [
        [names[n] for n in output.location_scores(index).argmax(-1)] for index in range(len(output))
    ]
    pairs = zip(zip(*sampled, strict=True), best_locations, strict=True)
    n_trajectories = math.ceil(share * _N_TRAJECTORIES)
    options = [
        _find_trajectories(rows, best, is_fixed=bool(fixes and fixes[index]))[:n_trajectories]
        for index, (rows, best) in enumerate(pairs)
    ]
    starts = (rows for rows, _ in Counter(sampled).most_common(_N_STARTS))
    return list(_climb(max((tuple(likeliest), *starts), key=score), options, score))


def sample_grids(
    output: Output,
    entities: Sequence[str],
    names: Names,
    n: int,
    *,
    consistency: Mapping[str, float],
    fixes: Sequence[Fixes] = (),
    n_sampled: int | None = None,
    seed: int = 0,
) -> list[Rows]:
    """Sample `n` grids of a procedure from the posterior, each as a row for every entity.

    The trajectories of each entity are sampled independently, `n_sampled` of them; then `n` of the
    grids they form are resampled by cross-entity consistency.
    """
    n_sampled = n_sampled or max(n, _N_SAMPLED)
    seen: Counter[str] = Counter()
    by_entity = []
    for index, name in enumerate(entities):
        rng = _build_rng(name, seen[name], seed)
        if fixes and fixes[index]:
            chain = build_chain(output, index, name, fixes[index])
            by_entity.append(chain.sample(n_sampled, rng))
        else:
            by_entity.append(sample_trajectories(output, index, n_sampled, rng))
        seen[name] += 1
    # (samples, entities, steps + 1)
    trajectories = np.stack(by_entity, axis=1)
    # Systematic resampling: the copies of a grid are proportional to its weight, up to rounding.
    marks = (np.arange(n) + 0.5) / n
    weights = weigh(trajectories, consistency)
    chosen = trajectories[np.searchsorted(weights.cumsum(), marks).clip(max=n_sampled - 1)]
    rows = [build_rows(chosen[:, number], name, names) for number, name in enumerate(entities)]
    return list(zip(*rows, strict=True))


def _climb(
    rows: Rows, trajectories: Sequence[Sequence[Row]], score: Callable[[Rows], float]
) -> Rows:
    """Replace one row at a time by a better one, until none is better."""
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
    """Seed by the name and by how often it came before, so that results are reproducible."""
    number = zlib.crc32(name.encode(errors="surrogatepass"))
    return np.random.default_rng((number, turn, seed))


def _find_trajectories(
    sampled: Sequence[Row], locations: Sequence[str], *, is_fixed: bool = False
) -> list[Row]:
    """Give the trajectories to try, most frequent first.

    These are the samples, and the tags of the samples with the network's best locations; of an
    entity with fixed cells the samples alone, which have them.
    """
    found = Counter(sampled)
    for row, n in list(found.items()) if not is_fixed else ():
        found[Row.from_tags(row.name, row.tags, locations)] += n
    return [row for row, _ in found.most_common(_N_TRAJECTORIES)]


def _build_grid(rows: Rows) -> Grid:
    return Grid("", ("",) * len(rows[0].steps), rows)
