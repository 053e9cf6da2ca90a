"""ProPara's document-level evaluation: inputs, outputs, conversions and moves, as the leaderboard.

Each process answers four questions. The precision and recall of each question are averaged over
processes and rounded to three decimals, then averaged over the questions; F1 is computed from these
averages. Comments mark where oddities of the official script are reproduced to get equal scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from koala.errors import KoalaError
from koala.evaluation.locations import extract_locations
from koala.evaluation.questions import Conversion, Move, Summary, summarize
from koala.evaluation.scores import PRF, build_signature, fingerprint
from koala.grid import Grid

_Answer = TypeVar("_Answer")
_Terms = list[frozenset[str]]


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """Scores of the four questions, per process and averaged."""

    per_process: Mapping[str, Mapping[str, PRF]]
    questions: Mapping[str, PRF]
    predicted: str
    """Fingerprint of the predictions."""
    signature: str

    @property
    def overall(self) -> PRF:
        """The mean of the four questions, not rounded; the leaderboard shows three decimals."""
        n = len(self.questions)
        return PRF(
            sum(score.precision for score in self.questions.values()) / n,
            sum(score.recall for score in self.questions.values()) / n,
        )

    def to_dict(self) -> dict[str, object]:
        """Give plain values in the shape of the official scores."""
        return {
            "overall": self.overall.to_dict(digits=3),
            "overall_unrounded": self.overall.to_dict(),
            "questions": {name: score.to_dict() for name, score in self.questions.items()},
            "per_process": {
                id: {name: [score.precision, score.recall] for name, score in scores.items()}
                for id, scores in self.per_process.items()
            },
        }


def score_document(predicted: Mapping[str, Grid], gold: Mapping[str, Grid]) -> DocumentScores:
    """Score predicted grids against gold ones, both by process id."""
    check_same_entities(predicted, gold)
    per_process = {
        id: score_process(summarize(predicted[id]), summarize(grid)) for id, grid in gold.items()
    }
    predictions = fingerprint(predicted.values())
    signature = build_signature(
        "propara-document", len(gold), gold=fingerprint(gold.values()), predicted=predictions
    )
    return DocumentScores(per_process, average_processes(per_process), predictions, signature)


def average_processes(per_process: Mapping[str, Mapping[str, PRF]]) -> dict[str, PRF]:
    """Average the scores of each question over all processes, as the official script does."""
    return {name: _average([s[name] for s in per_process.values()]) for name in QUESTIONS}


def _short(name: str) -> str:
    return repr(name if len(name) <= 60 else name[:59] + "…")


def _average(scores: Sequence[PRF]) -> PRF:
    n = len(scores)
    return PRF(
        round(sum(score.precision for score in scores) / n, 3),
        round(sum(score.recall for score in scores) / n, 3),
    )


def check_same_entities(predicted: Mapping[str, Grid], gold: Mapping[str, Grid]) -> None:
    """Raise an error unless predictions have the same processes and entities as gold."""
    problems = [f"process {id} is missing" for id in gold if id not in predicted]
    problems += [f"process {id} is not in the gold grids" for id in predicted if id not in gold]
    for id in gold:
        if id not in predicted:
            continue
        wanted, came = set(gold[id].names), set(predicted[id].names)
        problems += [f"process {id}: entity {_short(n)} is missing" for n in sorted(wanted - came)]
        problems += [f"process {id}: entity {_short(n)} is not gold" for n in sorted(came - wanted)]
        if len(predicted[id].steps) > len(gold[id].steps):
            step = len(predicted[id].steps)
            problems.append(
                f"process {id}: step {step} is past the last step, {len(gold[id].steps)}"
            )
    if problems or not gold:
        shown = "; ".join(problems[:5]) or "there are no gold grids"
        more = f" (and {len(problems) - 5} more)" if len(problems) > 5 else ""
        raise KoalaError(f"The predictions do not fit the gold grids: {shown}{more}.")


def score_process(predicted: Summary, gold: Summary) -> dict[str, PRF]:
    """Score the answers of one process."""
    return {
        name: score_answers(getattr(predicted, name), getattr(gold, name), match)
        for name, match in MATCHES.items()
    }


def score_answers(
    predicted: Sequence[_Answer],
    gold: Sequence[_Answer],
    match: Callable[[_Answer, _Answer], float],
) -> PRF:
    """Score the answers to one question; `match` gives the similarity of two, from 0 to 1."""
    if not predicted or not gold:
        return PRF(precision=float(not predicted), recall=float(not gold))
    table = [[match(one, other) for other in gold] for one in predicted]
    found = sum(max(row) for row in table)
    covered = sum(max(column) for column in zip(*table, strict=True))
    if len(predicted) == len(gold):
        covered = found  # as in the official script, even if two predictions match the same answer
    return PRF(found / len(predicted), covered / len(gold))


@lru_cache(maxsize=65536)
def _match_entities(one: str, other: str) -> float:
    return _overlap(_entity_terms((one,)), _entity_terms((other,)))


def _match_conversions(one: Conversion, other: Conversion) -> float:
    if one.step != other.step:
        return 0.0
    parts = (
        _overlap(_entity_terms(one.destroyed), _entity_terms(other.destroyed)),
        _overlap(_entity_terms(one.created), _entity_terms(other.created)),
        _overlap(_location_terms(one.locations), _location_terms(other.locations)),
    )
    return sum(parts) / len(parts)


def _match_moves(one: Move, other: Move) -> float:
    if one.step != other.step:
        return 0.0
    parts = (
        _match_entities(one.entity, other.entity),
        _match_locations(one.before, other.before),
        _match_locations(one.after, other.after),
    )
    return sum(parts) / len(parts)


@lru_cache(maxsize=65536)
def _match_locations(one: str, other: str) -> float:
    return _overlap(_location_terms((one,)), _location_terms((other,)))


MATCHES: Mapping[str, Callable[..., float]] = {
    "inputs": _match_entities,
    "outputs": _match_entities,
    "conversions": _match_conversions,
    "moves": _match_moves,
}
"""Similarity of two answers, for each question."""
QUESTIONS = tuple(MATCHES)


def _overlap(one: _Terms, other: _Terms) -> float:
    """Jaccard similarity of two lists of alternatives.

    Terms match if they share an alternative. The official script counts matching *pairs*, so lists
    that repeat a term can score above 1. Equal lists score 1.
    """
    if one == other:
        return 1.0
    both = sum(1 for a in one for b in other if a & b)
    either = len(one) + len(other) - both
    return both / either if either else 0.0


def _entity_terms(names: Sequence[str]) -> _Terms:
    return [
        frozenset(alias.strip() for option in term.split(" OR ") for alias in option.split(";"))
        for name in names
        for term in name.split(" AND ")
    ]


def _location_terms(locations: Sequence[str]) -> _Terms:
    return [terms for location in locations for terms in extract_locations(location)]
