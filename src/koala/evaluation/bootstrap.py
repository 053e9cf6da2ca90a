"""Paired bootstrap: is the difference between two systems more than luck of the test set?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from koala.errors import KoalaError
from koala.evaluation.document import QUESTIONS, DocumentScores
from koala.evaluation.scores import build_signature

LEAST = 5
"""With fewer procedures an interval is an illusion."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference of two F1 scores, first minus second, with the middle 95 % of the samples."""

    f1_difference: float
    low: float
    high: float
    samples: int
    signature: str

    def to_dict(self) -> dict[str, float]:
        """Give plain values; the signature stands with those of the scores."""
        values = asdict(self)
        del values["signature"]
        return values


def compare_documents(
    one: DocumentScores, other: DocumentScores, *, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """Draw processes with replacement, the same for both systems, and score each draw."""
    ids = list(one.per_process)
    if set(ids) != set(other.per_process):
        raise KoalaError("The two systems were scored on different processes.")
    if len(ids) < LEAST:
        raise KoalaError(
            f"{len(ids)} procedure(s) tell nothing of a difference; {LEAST} or more are needed."
        )
    generator = np.random.default_rng(seed)
    # (samples, processes)
    sampled = generator.integers(len(ids), size=(samples, len(ids)))
    difference = _draw_f1(one, ids, sampled) - _draw_f1(other, ids, sampled)
    low, high = np.quantile(difference, [0.025, 0.975])
    difference_of_f1 = one.overall.f1 - other.overall.f1
    signature = build_signature(
        "paired-bootstrap", len(ids), other=other.predicted, samples=samples, seed=seed
    )
    return Comparison(difference_of_f1, float(low), float(high), samples, signature)


def _draw_f1(
    scores: DocumentScores, ids: Sequence[str], sampled: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give the overall F1 of every draw."""
    # (processes, questions, precision and recall)
    table = np.array(
        [
            [[prf.precision, prf.recall] for prf in (scores.per_process[id][q] for q in QUESTIONS)]
            for id in ids
        ]
    )
    # (samples, questions, 2) → (samples, 2); the questions are rounded as in the official score
    averages = np.round(table[sampled].mean(axis=1), 3).mean(axis=1)
    precision, recall = averages[:, 0], averages[:, 1]
    total = precision + recall
    f1: NDArray[np.float64] = np.zeros_like(total)
    np.divide(2 * precision * recall, total, out=f1, where=total > 0)
    return f1
