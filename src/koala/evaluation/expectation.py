"""Expected document-level scores of a grid, given samples of the true grid."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from koala.evaluation.document import MATCHES
from koala.evaluation.questions import Conversion, Move, summarize
from koala.evaluation.scores import PRF
from koala.grid import Grid

Answers = tuple[Hashable, ...]
Floats = NDArray[np.float64]


class Expectation:
    """Scores grids of one process against equally probable truths."""

    def __init__(self, truths: Sequence[Grid]) -> None:
        summaries = [summarize(grid) for grid in truths]
        self._questions = [
            _Question(name, [getattr(summary, name) for summary in summaries]) for name in MATCHES
        ]

    def score(self, grid: Grid) -> PRF:
        """Give the mean precision and recall of a grid, over questions and truths."""
        summary = summarize(grid)
        scores = [question.score(getattr(summary, question.name)) for question in self._questions]
        n = len(scores)
        return PRF(sum(s.precision for s in scores) / n, sum(s.recall for s in scores) / n)


class _Question:
    """One question: the mean of `score_answers` over all truths, fast for many grids.

    The grids to compare share most of their answers. So each answer is matched only once with every
    true answer, and the matches are cached.
    """

    def __init__(self, name: str, truths: Sequence[Answers]) -> None:
        self.name = name
        counts = Counter(truths)
        self._shares = np.array(list(counts.values())) / len(truths)
        """(truths,): probability of each distinct truth."""
        self._sizes = np.array([len(truth) for truth in counts])
        by_step: dict[int, list[list[Hashable]]] = {}
        for number, truth in enumerate(counts):
            for answer in truth:
                step = _step_of(answer)
                if step not in by_step:
                    by_step[step] = [[] for _ in counts]
                by_step[step][number].append(answer)
        self._steps = {step: _Step(MATCHES[name], lists) for step, lists in by_step.items()}
        self._cache: dict[Answers, PRF] = {}

    def score(self, answers: Answers) -> PRF:
        """Give the mean precision and recall of some answers."""
        if answers not in self._cache:
            self._cache[answers] = self._score(answers)
        return self._cache[answers]

    def _score(self, answers: Answers) -> PRF:
        is_empty = self._sizes == 0
        if not answers:
            return PRF(precision=1.0, recall=float(self._shares @ is_empty))
        # (truths,)
        found, covered = np.zeros(len(self._sizes)), np.zeros(len(self._sizes))
        ordered = sorted(answers, key=_step_of)
        for step, own in groupby(ordered, key=_step_of):
            if step in self._steps:
                more_found, more_covered = self._steps[step].score(tuple(own))
                found += more_found
                covered += more_covered
        # As in `score_answers`: an oddity of the official script.
        covered = np.where(self._sizes == len(answers), found, covered)
        recall = np.where(is_empty, 1.0, covered / self._sizes.clip(min=1))
        return PRF(float(self._shares @ found) / len(answers), float(self._shares @ recall))


class _Step:
    """The answers of one step; answers of different steps never match."""

    def __init__(self, match: Callable[..., float], truths: Sequence[Sequence[Hashable]]) -> None:
        self._match = match
        numbers: dict[Hashable, int] = {}
        for truth in truths:
            for answer in truth:
                numbers.setdefault(answer, len(numbers))
        self._true = list(numbers)
        self._has = np.zeros((len(truths), len(numbers)))
        """(truths, answers): how often a truth has each answer."""
        for row, truth in zip(self._has, truths, strict=True):
            for answer in truth:
                row[numbers[answer]] += 1
        self._matches: dict[Hashable, tuple[Floats, Floats]] = {}
        self._cache: dict[Answers, tuple[Floats, Floats]] = {}

    def score(self, answers: Answers) -> tuple[Floats, Floats]:
        """Give the matches of the answers in each truth, and those of each truth in the answers."""
        if answers not in self._cache:
            matches, best = zip(*map(self._match_all, answers), strict=True)
            self._cache[answers] = np.sum(best, axis=0), self._has @ np.max(matches, axis=0)
        return self._cache[answers]

    def _match_all(self, answer: Hashable) -> tuple[Floats, Floats]:
        """Match an answer with all true answers (answers,), and find its best in each (truths,)."""
        if answer not in self._matches:
            matches = np.array([self._match(answer, other) for other in self._true])
            best = (matches * (self._has > 0)).max(1, initial=0.0)
            self._matches[answer] = matches, best
        return self._matches[answer]


def _step_of(answer: Hashable) -> int:
    """Give the step of a conversion or a move; inputs and outputs have none and get 0."""
    return answer.step if isinstance(answer, Conversion | Move) else 0
