"""Fit the location reranker and the cross-entity consistency weights of MBR decoding.

Both correct the predictions of a network on texts it was not trained on, so they are fitted on the
dev splits of runs. The folds of a cross-validation (`koala ablate --folds`) are best, because
together they cover train and dev.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from koala.corpora import Corpus
from koala.corpora.corpus import build_fold
from koala.decoding.mbr.consistency import FEATURES, describe
from koala.decoding.recipes import NOWHERE, SOMEWHERE
from koala.decoding.sampling import sample_trajectories
from koala.document import Convention
from koala.errors import FileError, KoalaError
from koala.grid import Grid
from koala.grid.states import ABSENT, UNKNOWN
from koala.inference.calibration import Calibration
from koala.inference.scoring import NetworkScorer, Scored, score_all
from koala.training.calibration import find_temperatures, fit_reranker
from koala.training.checkpoint import open_checkpoint
from koala.training.loop import Tell, build_batcher
from koala.training.run import DataSource

Floats = NDArray[np.float64]

_N_SAMPLES = 2000
"""Sampled grids per procedure."""
_PENALTY = 1.0
"""Penalty on the squared consistency weights."""
_FOLD = re.compile(r"-fold(\d+)of(\d+)$")
"""How the folder of a run names its fold."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Temperature-scaled scores of a procedure that the network was not trained on."""

    scored: Scored
    gold: Grid


def fit_calibration(
    runs: Sequence[Path], corpus: Corpus, *, tell: Tell = lambda _: None
) -> Calibration:
    """Fit one location reranker and one set of consistency weights on the dev splits of runs."""
    found: list[HeldOut] = []
    for run in runs:
        tell(f"Scoring {run}.")
        found += score_run(run, corpus)
    if not found:
        raise KoalaError("The dev splits of the runs have no procedures. Choose other runs.")
    convention: Convention = found[0].scored.procedure.convention
    reranker = fit_reranker([each.scored for each in found], (1.0, 1.0))
    reranked = Calibration(rerankers={convention: reranker})
    tell("Sampling grids.")
    return replace(reranked, consistency=fit_consistency(found, reranked))


def score_run(run: Path, corpus: Corpus) -> list[HeldOut]:
    """Score the dev split of a run, or of its fold, and fit its temperatures there."""
    model, settings = open_checkpoint(run)
    if settings.decoder.tags != "changes":
        raise FileError(
            run,
            f'this run has decoder.tags = "{settings.decoder.tags}"; only runs with "changes" can '
            "be calibrated.",
        )
    fold = _FOLD.search(run.name)
    if fold:
        corpus = build_fold(corpus, int(fold[1]), int(fold[2]))
    data = DataSource(corpus).get(settings)
    scored = score_all(NetworkScorer(model.predict, build_batcher(settings)), data.dev)
    calibration = Calibration.with_temperatures(find_temperatures(scored))
    return [
        HeldOut(
            Scored(each.items, calibration.scale(each.output, each.procedure)),
            data.dev_gold[each.procedure.id],
        )
        for each in scored
    ]


def fit_consistency(found: Sequence[HeldOut], calibration: Calibration) -> dict[str, float]:
    """Fit weights that make gold grids more probable than sampled ones.

    Maximises Σ θ·f(gold) − log mean exp θ·f(sample) − penalty · |θ|².
    """
    gold = [describe(number_locations(each.gold))[0] for each in found]
    samples = [_sample(each, calibration) for each in found]

    def measure(theta: Floats) -> tuple[float, Floats]:
        """Give the penalised NLL and its gradient."""
        loss, gradient = _PENALTY * theta @ theta, 2 * _PENALTY * theta
        for own, features in zip(gold, samples, strict=True):
            scores = features @ theta
            total = np.logaddexp.reduce(scores)
            loss -= own @ theta - total + np.log(len(scores))
            gradient -= own - np.exp(scores - total) @ features
        return float(loss), gradient

    theta = minimize(measure, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B").x
    return dict(zip(FEATURES, theta.round(4).tolist(), strict=True))


def number_locations(grid: Grid) -> NDArray[np.int64]:
    """Give the locations of a grid as numbers: (1, entities, steps + 1)."""
    numbers = {ABSENT: NOWHERE, UNKNOWN: SOMEWHERE}
    rows = [
        [numbers.setdefault(location, len(numbers)) for location in row.locations]
        for row in grid.rows
    ]
    return np.array([rows])


def _sample(each: HeldOut, calibration: Calibration) -> Floats:
    """Sample grids of a procedure and give their features: (samples, features)."""
    rng = np.random.default_rng(zlib.crc32(each.gold.id.encode()))
    output = calibration.apply(each.scored.output, each.scored.items)
    trajectories = [
        sample_trajectories(output, index, _N_SAMPLES, rng) for index in range(len(output))
    ]
    return describe(np.stack(trajectories, axis=1))
