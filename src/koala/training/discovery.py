"""Training of entity discovery: learns which noun phrases of a text annotators chose to track."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.linear_model import LogisticRegression

from koala.corpora.corpus import find_fold
from koala.discovery.features import WORDED, Described, Description, describe_procedures
from koala.discovery.ranker import Ranker, choose
from koala.document import Procedure
from koala.encoders import Encoder
from koala.errors import KoalaError
from koala.evaluation.discovery import (
    DiscoveryScores,
    match_names,
    score_entities,
)

THRESHOLDS = np.arange(0.2, 0.6, 0.01).round(2)
"""The thresholds that are tried."""

_DIGITS = 4
"""Digits of a weight; further digits would differ from machine to machine."""

_MAX_ITERATIONS = 2000
"""Iterations of the fit; it needs about 300."""


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """Settings, chosen by cross-validation on train; see `results/entities.md`."""

    l2: float = 3.0
    """Strength of the penalty on squared weights."""
    words: float = 1.5
    """Scale of features that name a word: the larger, the less their weights are penalised."""
    nouns: float = 0.25
    """Scale of the noun vectors."""
    verbs: float = 0.2
    """Scale of the verb vectors."""
    least: int = 4
    """A feature counts if at least so many candidates have it."""
    folds: int = 5
    extra: int = 200
    """Number of procedures of a second corpus to train on, so that recipes work as well."""
    extra_weight: float = 0.3
    """Weight of a candidate of the second corpus."""


@dataclass(frozen=True, slots=True)
class LabelledProcedure:
    """A procedure with its candidate entities and their features."""

    procedure: Procedure
    described: Described

    @property
    def gold(self) -> list[str]:
        """The names of the entities that annotators chose."""
        return [entity.name for entity in self.procedure.entities]

    @property
    def names(self) -> list[str]:
        """The names of all candidates."""
        return [candidate.name for candidate in self.described[0]]

    @property
    def labels(self) -> NDArray[np.bool_]:
        """(candidates,): which candidates annotators chose."""
        matched = set(match_names(self.names, self.gold).values())
        return np.array([number in matched for number in range(len(self.names))], dtype=bool)


@dataclass(frozen=True, slots=True)
class TrainedRanker:
    """A trained ranker and its scores."""

    ranker: Ranker
    train: DiscoveryScores
    """Cross-validated on train, with the threshold that was chosen there."""
    dev: Mapping[str, DiscoveryScores]
    """On dev, by the name of the corpus."""


def train_ranker(
    train: Sequence[Procedure],
    dev: Mapping[str, Sequence[Procedure]],
    extra: Sequence[Procedure] = (),
    *,
    encoder: Encoder,
    settings: DiscoverySettings,
) -> TrainedRanker:
    """Train a ranker on procedures whose entities are known; dev is used only for the report."""
    lessons, others = (build_lessons(each, encoder) for each in (train, extra[: settings.extra]))
    scores = cross_validate(lessons, others, settings)
    threshold = find_threshold(lessons, scores)
    ranker = replace(fit(lessons, others, settings), encoder=encoder.name, threshold=threshold)
    unseen = {name: build_lessons(each, encoder) for name, each in dev.items()}
    return TrainedRanker(
        ranker,
        train=score_lessons(lessons, scores, threshold),
        dev={
            name: score_lessons(
                each,
                [[ranker.score(candidate) for candidate in lesson.described[1]] for lesson in each],
                threshold,
            )
            for name, each in unseen.items()
        },
    )


def build_lessons(procedures: Sequence[Procedure], encoder: Encoder) -> list[LabelledProcedure]:
    """Find and describe the candidate entities of procedures whose entities are known."""
    described = describe_procedures(procedures, encoder)
    return [LabelledProcedure(*pair) for pair in zip(procedures, described, strict=True)]


def cross_validate(
    lessons: Sequence[LabelledProcedure],
    extra: Sequence[LabelledProcedure],
    settings: DiscoverySettings,
) -> list[list[float]]:
    """Score the candidates of every lesson with a ranker not trained on that lesson's question.

    Folds are by question, because several procedures answer the same one.
    """
    folds = [find_fold(lesson.procedure, settings.folds) for lesson in lessons]
    rankers = []
    for fold in range(settings.folds):
        others = [lesson for lesson, other in zip(lessons, folds, strict=True) if other != fold]
        rankers.append(fit(others, extra, settings))
    return [
        [rankers[fold].score(description) for description in lesson.described[1]]
        for lesson, fold in zip(lessons, folds, strict=True)
    ]


def find_threshold(
    lessons: Sequence[LabelledProcedure], scores: Sequence[Sequence[float]]
) -> float:
    """Find the threshold with the best F1; of equal ones, take the lowest."""
    return float(max(THRESHOLDS, key=lambda t: score_lessons(lessons, scores, float(t)).score.f1))


def score_lessons(
    lessons: Sequence[LabelledProcedure], scores: Sequence[Sequence[float]], threshold: float
) -> DiscoveryScores:
    """Score the entities that a threshold selects."""
    return score_entities(
        {
            lesson.procedure.id: [lesson.names[number] for number in choose(each, threshold)]
            for lesson, each in zip(lessons, scores, strict=True)
        },
        {lesson.procedure.id: lesson.gold for lesson in lessons},
    )


def fit(
    lessons: Sequence[LabelledProcedure],
    extra: Sequence[LabelledProcedure],
    settings: DiscoverySettings,
) -> Ranker:
    """Fit a ranker; its encoder's name and threshold are left for the caller to set."""
    everything = [*lessons, *extra]
    descriptions = [each for lesson in everything for each in lesson.described[1]]
    if not descriptions:
        raise KoalaError(
            "There is nothing to learn from: the procedures name no candidate entities. Give a "
            "corpus with texts."
        )
    counts = Counter(name for each in descriptions for name in each.features)
    names = sorted(name for name, count in counts.items() if count >= settings.least)
    # Named features first, then the vectors. A larger scale means a weaker penalty.
    scales = np.array(
        [settings.words if name.startswith(WORDED) else 1.0 for name in names]
        + [settings.nouns] * len(descriptions[0].noun)
        + [settings.verbs] * len(descriptions[0].verb)
    )
    # (candidates, features)
    table = hstack(
        [
            _build_named(descriptions, names),
            csr_matrix(np.array([each.noun for each in descriptions], dtype=np.float64)),
            csr_matrix(np.array([each.verb for each in descriptions], dtype=np.float64)),
        ]
    ).tocsr()
    labels = np.concatenate([lesson.labels for lesson in everything])
    n_first = sum(len(lesson.names) for lesson in lessons)
    importance = np.where(np.arange(len(labels)) < n_first, 1.0, settings.extra_weight)
    scaled = table.multiply(scales).tocsr()
    weights = fit_logistic(scaled, labels, importance, l2=settings.l2) * scales
    weights = weights.round(_DIGITS)
    named, noun, verb = np.split(weights, [len(names), (len(names) + len(weights)) // 2])
    return Ranker("", 0.5, dict(zip(names, named.tolist(), strict=True)), noun, verb)


def fit_logistic(
    table: Any,  # noqa: ANN401
    labels: NDArray[np.bool_],
    importance: NDArray[np.float64],
    *,
    l2: float,
) -> NDArray[np.float64]:
    """Fit a logistic regression with the penalty l2 / 2 · |w|²; the bias is one of the features.

    `table` is (candidates, features); labels and importance are (candidates,).
    """
    model = LogisticRegression(C=1 / l2, fit_intercept=False, max_iter=_MAX_ITERATIONS, tol=1e-10)
    model.fit(table, labels, sample_weight=importance)
    return np.asarray(model.coef_[0])


def _build_named(descriptions: Sequence[Description], names: Sequence[str]) -> Any:  # noqa: ANN401
    """Build the sparse table of named features: (candidates, named features)."""
    columns = {name: column for column, name in enumerate(names)}
    cells = [
        (row, columns[name], value)
        for row, description in enumerate(descriptions)
        for name, value in description.features.items()
        if name in columns
    ]
    rows, numbers, values = zip(*cells, strict=True)
    return csr_matrix((values, (rows, numbers)), shape=(len(descriptions), len(names)))
