"""Paired bootstrap: is the difference between two systems more than chance?"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from koala.errors import KoalaError
from koala.evaluation.document import QUESTIONS, DocumentScores
from koala.evaluation.scores import build_signature

LEAST = 5
"""Procedures needed for a meaningful interval."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference of two F1 scores, first minus second, with a 95 % bootstrap interval."""

    f1_difference: float
    low: float
    high: float
    samples: int
    signature: str

    def to_dict(self) -> dict[str, float]:
        """Give plain values without the signature, which is printed with those of the scores."""
        values = asdict(self)
        del values["signature"]
        return values


def compare_documents(
    one: DocumentScores, other: DocumentScores, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare two systems by their document-level F1."""
    ids = check_ids(one.per_process, other.per_process)
    sampled = sample_procedures(len(ids), samples, seed)
    low, high = find_interval(_resample_f1(one, ids, sampled) - _resample_f1(other, ids, sampled))
    signature = build_signature(
        "paired-bootstrap", len(ids), other=other.predicted, samples=samples, seed=seed
    )
    return Comparison(one.overall.f1 - other.overall.f1, low, high, samples, signature)


def check_ids(one: Collection[str], other: Collection[str]) -> list[str]:
    """Give the ids of the procedures; raise an error if the two differ or are too few."""
    if set(one) != set(other):
        odd = ", ".join(sorted(set(one) ^ set(other))[:5])
        raise KoalaError(
            f"The two systems were scored on different processes; only one has: {odd}. "
            "Compare predictions for the same processes."
        )
    if len(one) < LEAST:
        raise KoalaError(
            f"{len(one)} procedure(s) are too few for an interval; compare {LEAST} or more."
        )
    return list(one)


def sample_procedures(n: int, samples: int, seed: int = 0) -> NDArray[np.int64]:
    """Sample indices of procedures with replacement: (samples, n)."""
    return np.random.default_rng(seed).integers(n, size=(samples, n))


def find_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Give the middle 95 % of the values of bootstrap samples."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _resample_f1(
    scores: DocumentScores, ids: Sequence[str], sampled: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give the overall F1 of every bootstrap sample."""
    # (processes, questions, precision and recall)
    table = np.array(
        [
            [[prf.precision, prf.recall] for prf in (scores.per_process[id][q] for q in QUESTIONS)]
            for id in ids
        ]
    )
    # (samples, questions, 2) → (samples, 2); the questions are rounded as in the official script
    averages = np.round(table[sampled].mean(axis=1), 3).mean(axis=1)
    precision, recall = averages[:, 0], averages[:, 1]
    total = precision + recall
    f1: NDArray[np.float64] = np.zeros_like(total)
    np.divide(2 * precision * recall, total, out=f1, where=total > 0)
    return f1
