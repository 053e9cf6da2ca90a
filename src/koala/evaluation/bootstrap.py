"""Paired bootstrap: is the difference between two systems more than chance?

Several procedures answer the same question in similar words, so they are not independent. Where the
questions are known, whole questions are drawn, each with all its procedures.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from koala.errors import KoalaError
from koala.evaluation.document import QUESTIONS, DocumentScores
from koala.evaluation.scores import build_signature

LEAST = 5
"""Procedures or questions needed for a meaningful interval."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference of two F1 scores, first minus second, with a 95 % bootstrap interval."""

    f1_difference: float
    low: float
    high: float
    samples: int
    signature: str
    drawn_by: Literal["procedure", "question"] = "procedure"
    """What was drawn with replacement."""
    drawn: int = 0
    """How many procedures or questions there are."""

    def to_dict(self) -> dict[str, float | str]:
        """Give plain values without the signature, which is printed with those of the scores."""
        values = asdict(self)
        del values["signature"]
        return values


def compare_documents(
    one: DocumentScores,
    other: DocumentScores,
    *,
    questions: Mapping[str, str] | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Draw processes with replacement, the same for both systems, and score each sample.

    With the question of every process, questions are drawn.
    """
    return compare_systems([one], [other], questions=questions, samples=samples, seed=seed)


def compare_systems(
    ones: Sequence[DocumentScores],
    others: Sequence[DocumentScores],
    *,
    questions: Mapping[str, str] | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare two systems with several seeds each, by the mean F1 of their seeds."""
    ids = list(ones[0].per_process)
    for scores in (*ones, *others):
        _check_same(ids, scores.per_process)
    groups = _group(ids, questions)
    kind: Literal["procedure", "question"] = "procedure" if questions is None else "question"
    if len(groups) < LEAST:
        raise KoalaError(
            f"{len(groups)} {kind}(s) are too few for an interval; compare {LEAST} or more."
        )
    # (samples, groups)
    sampled = sample_procedures(len(groups), samples, seed)
    means = [
        np.mean([_resample_f1(scores, groups, sampled) for scores in system], axis=0)
        for system in (ones, others)
    ]
    low, high = find_interval(means[0] - means[1])
    difference = np.mean([s.overall.f1 for s in ones]) - np.mean([s.overall.f1 for s in others])
    by = {"by": f"question-{len(groups)}"} if questions is not None else {}
    signature = build_signature(
        "paired-bootstrap",
        len(ids),
        **by,
        other="+".join(scores.predicted for scores in others),
        samples=samples,
        seed=seed,
    )
    return Comparison(float(difference), low, high, samples, signature, kind, len(groups))


def check_ids(one: Collection[str], other: Collection[str]) -> list[str]:
    """Give the ids of the procedures; raise an error if the two differ or are too few."""
    _check_same(one, other)
    if len(one) < LEAST:
        raise KoalaError(
            f"{len(one)} procedure(s) are too few for an interval; compare {LEAST} or more."
        )
    return list(one)


def _check_same(one: Collection[str], other: Collection[str]) -> None:
    if set(one) != set(other):
        odd = ", ".join(sorted(set(one) ^ set(other))[:5])
        raise KoalaError(
            f"The two systems were scored on different processes; only one has: {odd}. "
            "Compare predictions for the same processes."
        )


def sample_procedures(n: int, samples: int, seed: int = 0) -> NDArray[np.int64]:
    """Sample indices of procedures, or of groups of them, with replacement: (samples, n)."""
    return np.random.default_rng(seed).integers(n, size=(samples, n))


def find_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Give the middle 95 % of the values of bootstrap samples."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _group(ids: Sequence[str], questions: Mapping[str, str] | None) -> list[list[str]]:
    """Group processes by question; without questions, each is a group of its own."""
    if questions is None:
        return [[id] for id in ids]
    groups: dict[str, list[str]] = {}
    for id in ids:
        if id not in questions:
            raise KoalaError(
                f"The question of process {id} is not known. Give the questions of all processes, "
                "or of none."
            )
        groups.setdefault(questions[id], []).append(id)
    return list(groups.values())


def _resample_f1(
    scores: DocumentScores, groups: Sequence[Sequence[str]], sampled: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Give the overall F1 of every bootstrap sample."""
    # (groups, questions of the evaluation, precision and recall): sums over a group's processes
    totals = np.array([np.sum([_table(scores, id) for id in ids], axis=0) for ids in groups])
    sizes = np.array([len(ids) for ids in groups])
    # (samples, questions, 2) → (samples, 2); the questions are rounded as in the official script
    means = totals[sampled].sum(axis=1) / sizes[sampled].sum(axis=1)[:, None, None]
    averages = np.round(means, 3).mean(axis=1)
    precision, recall = averages[:, 0], averages[:, 1]
    total = precision + recall
    f1: NDArray[np.float64] = np.zeros_like(total)
    np.divide(2 * precision * recall, total, out=f1, where=total > 0)
    return f1


def _table(scores: DocumentScores, id: str) -> list[list[float]]:
    found = scores.per_process[id]
    return [[found[question].precision, found[question].recall] for question in QUESTIONS]
