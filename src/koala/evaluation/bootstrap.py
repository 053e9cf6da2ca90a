"""Paired bootstrap: is the difference between two systems more than chance?"""

from collections.abc import Sequence
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
    """Resample processes with replacement, the same for both systems, and score each sample."""
    ids = list(one.per_process)
    if set(ids) != set(other.per_process):
        odd = ", ".join(sorted(set(ids) ^ set(other.per_process))[:5])
        raise KoalaError(
            f"The two systems were scored on different processes; only one has: {odd}. "
            "Compare predictions for the same processes."
        )
    if len(ids) < LEAST:
        raise KoalaError(
            f"{len(ids)} procedure(s) are too few for an interval; compare {LEAST} or more."
        )
    generator = np.random.default_rng(seed)
    # (samples, processes)
    sampled = generator.integers(len(ids), size=(samples, len(ids)))
    difference = _resample_f1(one, ids, sampled) - _resample_f1(other, ids, sampled)
    low, high = np.quantile(difference, [0.025, 0.975])
    difference_of_f1 = one.overall.f1 - other.overall.f1
    signature = build_signature(
        "paired-bootstrap", len(ids), other=other.predicted, samples=samples, seed=seed
    )
    return Comparison(difference_of_f1, float(low), float(high), samples, signature)


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
