"""Learns which things of a text are worth tracking from the entities that people chose to track."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from koala.corpora.corpus import find_fold
from koala.document import Procedure
from koala.encoders import Encoder
from koala.errors import KoalaError
from koala.evaluation.participants import (
    ParticipantScores,
    match_names,
    score_participants,
)
from koala.participants.features import WORDED, Described, Description, describe_procedures
from koala.participants.ranker import Ranker, choose

Table = NDArray[np.float64]

THRESHOLDS = np.arange(0.2, 0.6, 0.01).round(2)
"""Those that are tried."""

_DIGITS = 4  # of a weight; more would differ from machine to machine

_NEWTON_STEPS = 50
# The largest slope of a fit that is done, and the share of a step's error that may be left.
_SMALL = 1e-6
_SOLVED = 1e-6


@dataclass(frozen=True, slots=True)
class Learning:
    """Settings, chosen by cross-validation on train; see `results/participants.md`."""

    l2: float = 3.0
    """Strength of the penalty on squared weights."""
    words: float = 1.5
    """What features that name a word are multiplied by: the more, the less they are penalised."""
    nouns: float = 0.25
    """The same for the vectors of nouns."""
    verbs: float = 0.2
    """The same for the vectors of verbs."""
    least: int = 4
    """How many things must have a feature for it to count."""
    folds: int = 5
    extra: int = 200
    """How many procedures of a second corpus are read, so that recipes are not foreign."""
    extra_weight: float = 0.3
    """How much a thing of those counts."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A procedure as the learner sees it."""

    procedure: Procedure
    described: Described

    @property
    def gold(self) -> list[str]:
        """The names that people chose."""
        return [entity.name for entity in self.procedure.entities]

    @property
    def names(self) -> list[str]:
        """The names of all things."""
        return [thing.name for thing in self.described[0]]

    @property
    def labels(self) -> NDArray[np.bool_]:
        """(things): which of them are among those people chose."""
        matched = set(match_names(self.names, self.gold).values())
        return np.array([number in matched for number in range(len(self.names))], dtype=bool)


@dataclass(frozen=True, slots=True)
class Learned:
    """A ranker, and how well it did where it had not looked."""

    ranker: Ranker
    train: ParticipantScores
    """In cross-validation, with the threshold that was chosen there."""
    dev: ParticipantScores


def learn(
    train: Sequence[Procedure],
    dev: Sequence[Procedure],
    extra: Sequence[Procedure] = (),
    *,
    encoder: Encoder,
    settings: Learning,
) -> Learned:
    """Learn from procedures whose entities are known; dev is only looked at to report."""
    parts = [build_lessons(each, encoder) for each in (train, dev, extra[: settings.extra])]
    lessons, unseen, others = parts
    scores = cross_validate(lessons, others, settings)
    threshold = find_threshold(lessons, scores)
    ranker = replace(fit(lessons, others, settings), encoder=encoder.name, threshold=threshold)
    found = [[ranker.score(each) for each in lesson.described[1]] for lesson in unseen]
    return Learned(
        ranker,
        train=score_lessons(lessons, scores, threshold),
        dev=score_lessons(unseen, found, threshold),
    )


def build_lessons(procedures: Sequence[Procedure], encoder: Encoder) -> list[Lesson]:
    """Describe the things of procedures whose entities are known."""
    described = describe_procedures(procedures, encoder)
    return [Lesson(*pair) for pair in zip(procedures, described, strict=True)]


def cross_validate(
    lessons: Sequence[Lesson], extra: Sequence[Lesson], settings: Learning
) -> list[list[float]]:
    """Give for every lesson the scores of its things from a ranker that never saw its prompt."""
    parts = [find_fold(lesson.procedure, settings.folds) for lesson in lessons]
    rankers = []
    for part in range(settings.folds):
        others = [lesson for lesson, other in zip(lessons, parts, strict=True) if other != part]
        rankers.append(fit(others, extra, settings))
    return [
        [rankers[part].score(description) for description in lesson.described[1]]
        for lesson, part in zip(lessons, parts, strict=True)
    ]


def find_threshold(lessons: Sequence[Lesson], scores: Sequence[Sequence[float]]) -> float:
    """Find the threshold with the best F1; of equal ones the lowest."""
    return float(max(THRESHOLDS, key=lambda t: score_lessons(lessons, scores, float(t)).score.f1))


def score_lessons(
    lessons: Sequence[Lesson], scores: Sequence[Sequence[float]], threshold: float
) -> ParticipantScores:
    """Score what a threshold would choose."""
    return score_participants(
        {
            lesson.procedure.id: [lesson.names[number] for number in choose(each, threshold)]
            for lesson, each in zip(lessons, scores, strict=True)
        },
        {lesson.procedure.id: lesson.gold for lesson in lessons},
    )


def fit(lessons: Sequence[Lesson], extra: Sequence[Lesson], settings: Learning) -> Ranker:
    """Fit a ranker; its threshold is still to be found."""
    everything = [*lessons, *extra]
    descriptions = [each for lesson in everything for each in lesson.described[1]]
    if not descriptions:
        raise KoalaError("There is nothing to learn from: give procedures that name something.")
    counts = Counter(name for each in descriptions for name in each.features)
    names = sorted(name for name, count in counts.items() if count >= settings.least)
    # Named features, then the vectors; the larger a feature, the less its weight is penalised.
    scales = np.array(
        [settings.words if name.startswith(WORDED) else 1.0 for name in names]
        + [settings.nouns] * len(descriptions[0].noun)
        + [settings.verbs] * len(descriptions[0].verb)
    )
    # (things, features)
    table = np.column_stack(
        (
            _build_named(descriptions, names),
            np.array([each.noun for each in descriptions]),
            np.array([each.verb for each in descriptions]),
        )
    )
    labels = np.concatenate([lesson.labels for lesson in everything])
    n_first = sum(len(lesson.names) for lesson in lessons)
    importance = np.where(np.arange(len(labels)) < n_first, 1.0, settings.extra_weight)
    weights = fit_logistic(table * scales, labels, importance, l2=settings.l2) * scales
    weights = weights.round(_DIGITS)
    named, noun, verb = np.split(weights, [len(names), (len(names) + len(weights)) // 2])
    return Ranker("", 0.5, dict(zip(names, named.tolist(), strict=True)), noun, verb)


def _build_named(descriptions: Sequence[Description], names: Sequence[str]) -> Table:
    """Build (things, named features)."""
    columns = {name: column for column, name in enumerate(names)}
    table = np.zeros((len(descriptions), len(names)))
    for row, description in enumerate(descriptions):
        for name, value in description.features.items():
            if name in columns:
                table[row, columns[name]] = value
    return table


def fit_logistic(table: Table, labels: NDArray[np.bool_], importance: Table, *, l2: float) -> Table:
    """Fit a logistic regression with an L2 penalty by Newton's method.

    `table` is (things, features), labels and importance are (things). Each step is solved by
    conjugate gradients, so that the matrix of second derivatives is never built.
    """
    weights = np.zeros(table.shape[1])
    for _ in range(_NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-table @ weights))
        gradient = table.T @ (importance * (probabilities - labels)) + l2 * weights
        if np.abs(gradient).max() < _SMALL:
            break
        curvature = importance * probabilities * (1 - probabilities)
        weights -= _solve(table, curvature, l2, gradient)
    return weights


def _solve(table: Table, curvature: Table, l2: float, target: Table) -> Table:
    """Solve (Tᵀ·diag(curvature)·T + l2·I)·x = target by conjugate gradients."""
    solution, rest = np.zeros_like(target), target.copy()
    direction, length = rest.copy(), float(rest @ rest)
    enough = _SOLVED * length
    while length > enough:
        image = table.T @ (curvature * (table @ direction)) + l2 * direction
        step = length / float(direction @ image)
        solution += step * direction
        rest -= step * image
        new = float(rest @ rest)
        direction = rest + new / length * direction
        length = new
    return solution
