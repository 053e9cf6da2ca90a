"""ProPara's sentence-level evaluation: ten questions about each entity, in three categories.

Q1–3: is it created, when, where? Q4–6: is it destroyed, when, where? Q7–8: is it moved, when?
Q9–10: from where, to where? There are two versions; the signature names the one used:

- `published`: against labels of several annotators. Where-questions without a known gold location
  are not asked, and an unknown predicted location is no answer.
- `grid`: the leaderboard's grid is the only annotator, and `?` counts as an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from koala.errors import KoalaError
from koala.evaluation.document import check_same_entities
from koala.evaluation.labels import (
    ABSENT,
    UNKNOWN,
    ProcessLabels,
    Trajectory,
    align_name,
    to_published,
)
from koala.evaluation.locations import is_inside
from koala.evaluation.scores import PRF, build_signature, digest, fingerprint
from koala.grid import Grid, Row

CATEGORIES = {"Cat-1": (1, 4, 7), "Cat-2": (2, 5, 8), "Cat-3": (3, 6, 9, 10)}
_WEIGHTS = {"Cat-1": 750, "Cat-2": 601, "Cat-3": 823}
_WHEN_MOVED = 8
_N_QUESTIONS = 10

_Cells = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Counts:
    """Outcomes of a question; the rates are percentages."""

    total: int
    tp: int
    fp: int
    tn: int
    fn: int
    is_f1: bool = False
    """Whether accuracy is reported as F1 (for Q8, where most steps are true negatives)."""

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return self.f1 if self.is_f1 else 100 * _ratio(self.tp + self.tn, self.total)

    @property
    def precision(self) -> float:
        """The share of given answers that are right."""
        return 100 * _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        """The share of gold answers that are given."""
        return 100 * _ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 100 * PRF(_ratio(self.tp, self.tp + self.fp), _ratio(self.tp, self.tp + self.fn)).f1

    def to_dict(self) -> dict[str, float]:
        """Give plain values in the shape of the official scores."""
        return {
            "total": float(self.total),
            "tp": float(self.tp),
            "fp": float(self.fp),
            "tn": float(self.tn),
            "fn": float(self.fn),
            "accuracy": round(self.accuracy, 2),
            "precision": round(self.precision, 2),
            "recall": round(self.recall, 2),
            "f1": round(self.f1, 2),
        }


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """Scores of the ten questions, `Q1` to `Q10`."""

    questions: Mapping[str, Counts]
    version: str
    signature: str

    @property
    def categories(self) -> dict[str, float]:
        """Cat-1 (is it?), Cat-2 (when?) and Cat-3 (where?): plain means of their questions."""
        return {
            name: sum(self.questions[f"Q{q}"].accuracy for q in asked) / len(asked)
            for name, asked in CATEGORIES.items()
        }

    @property
    def macro(self) -> float:
        """The plain mean of the categories."""
        return sum(self.categories.values()) / len(self.categories)

    @property
    def micro(self) -> float:
        """The mean of the categories, weighted by the size of the published test set."""
        total = sum(_WEIGHTS[name] * value for name, value in self.categories.items())
        return total / sum(_WEIGHTS.values())

    def to_dict(self) -> dict[str, object]:
        """Give plain values in the shape of the official scores, with two decimals."""
        return {
            "questions": {name: counts.to_dict() for name, counts in self.questions.items()},
            **{name: round(value, 2) for name, value in self.categories.items()},
            "macro-avg": round(self.macro, 2),
            "micro-avg": round(self.micro, 2),
            "version": self.version,
        }


def score_sentence(
    predicted: Mapping[str, Grid],
    gold: Mapping[str, Grid],
    labels: Mapping[str, ProcessLabels] | None = None,
) -> SentenceScores:
    """Score predicted grids against labels if given, else against the gold grids.

    A missing step, which the published script cannot read, counts as an unknown location.
    """
    check_same_entities(predicted, gold)
    tally = _Tally(counts_unknown=labels is None)
    for id, grid in gold.items():
        if labels is None:
            _ask_grid(tally, predicted[id], grid)
        else:
            _ask_labels(tally, predicted[id], labels[id], len(grid.steps))
    version = "grid" if labels is None else "published"
    signature = build_signature(
        f"propara-sentence-{version}",
        len(gold),
        gold=fingerprint(gold.values()),
        **({} if labels is None else {"labels": digest([*labels, *_texts(labels)])}),
        predicted=fingerprint(predicted.values()),
    )
    return SentenceScores(tally.questions(), version, signature)


def _texts(labels: Mapping[str, ProcessLabels]) -> list[str]:
    return [each.fingerprint for each in labels.values()]


def _ask_labels(tally: "_Tally", grid: Grid, labels: ProcessLabels, n_steps: int) -> None:
    """Ask about every entity once for every annotator."""
    rows = {
        align_name(alias.strip().lower(), labels.names): _cells_of(row, n_steps)
        for row in grid.rows
        for alias in row.name.split(";")
    }
    unknown = [(UNKNOWN, UNKNOWN)] * n_steps
    for annotator in labels.annotators:
        for name, trajectory in annotator.items():
            tally.ask(trajectory, rows.get(name, unknown))


def _ask_grid(tally: "_Tally", grid: Grid, gold: Grid) -> None:
    # Of two entities with the same name the last counts, as at document level.
    rows = {row.name: row for row in grid.rows}
    for name, row in {row.name: row for row in gold.rows}.items():
        cells = _cells_of(rows[name], len(gold.steps))
        tally.ask(_trajectory_of(_cells_of(row, len(gold.steps))), cells)


def _cells_of(row: Row, n_steps: int) -> list[tuple[str, str]]:
    """Give the locations before and after every step as the published conversion writes them."""
    # The published conversion strips lines, so white space survives only after `before`.
    cells = [(to_published(c.before), to_published(c.after.rstrip())) for c in row.steps]
    return cells + [(UNKNOWN, UNKNOWN)] * (n_steps - len(cells))


def _trajectory_of(cells: _Cells) -> Trajectory:
    """Find creation, destruction and moves in the cells of an entity.

    Created: it is absent before step 1; the first step after which it exists. Destroyed: it is
    absent at the end; the last step before which it exists.
    """
    steps = list(enumerate(cells, 1))
    created = destroyed = None
    if cells and cells[0][0] == ABSENT:
        created = next(((step, after) for step, (_, after) in steps if after != ABSENT), None)
    if cells and cells[-1][1] == ABSENT:
        ends = ((step, before) for step, (before, _) in reversed(steps) if before != ABSENT)
        destroyed = next(ends, None)
    moves = tuple((step, *cell) for step, cell in steps if ABSENT not in cell and len({*cell}) == 2)
    return Trajectory(created, destroyed, moves)


@dataclass
class _Tally:
    """Counts the answers to all questions."""

    counts_unknown: bool
    outcomes: dict[int, list[str]] = field(
        default_factory=lambda: {number: [] for number in range(1, _N_QUESTIONS + 1)}
    )

    def questions(self) -> dict[str, Counts]:
        return {
            f"Q{number}": Counts(
                total=len(found),
                tp=found.count("tp"),
                fp=found.count("fp"),
                tn=found.count("tn"),
                fn=found.count("fn"),
                is_f1=number == _WHEN_MOVED,
            )
            for number, found in self.outcomes.items()
        }

    def ask(self, gold: Trajectory, cells: _Cells) -> None:
        """Ask all ten questions about one entity."""
        if len(cells) < gold.last_step:
            raise KoalaError(
                f"The labels have a change in step {gold.last_step}; the gold grid has only "
                f"{len(cells)} steps. Use labels and gold grids of the same corpus."
            )
        predicted = _trajectory_of(cells)
        self._ask_event((1, 2, 3), gold.created, predicted.created, [after for _, after in cells])
        self._ask_event(
            (4, 5, 6), gold.destroyed, predicted.destroyed, [before for before, _ in cells]
        )
        self._ask_moves(gold, predicted, cells)

    def _ask_event(
        self,
        numbers: tuple[int, int, int],
        gold: tuple[int, str] | None,
        predicted: tuple[int, str] | None,
        locations: Sequence[str],
    ) -> None:
        whether, when, where = numbers
        self._ask_whether(whether, gold is not None, predicted is not None)
        if gold is None:
            return
        step, location = gold
        if predicted is None:
            self.outcomes[when].append("fn")
        else:
            self.outcomes[when].append("tp" if predicted[0] == step else "fp")
        # The published script looks at the predicted location in the *gold* step.
        self._ask_where(where, location, locations[step - 1])

    def _ask_moves(self, gold: Trajectory, predicted: Trajectory, cells: _Cells) -> None:
        self._ask_whether(7, bool(gold.moves), bool(predicted.moves))
        if not gold.moves:
            return
        gold_steps = {step for step, *_ in gold.moves}
        predicted_steps = {step for step, *_ in predicted.moves}
        for step in range(1, len(cells) + 1):
            self._ask_whether(_WHEN_MOVED, step in gold_steps, step in predicted_steps)
        for step, before, after in gold.moves:
            self._ask_where(9, before, cells[step - 1][0])
            self._ask_where(10, after, cells[step - 1][1])

    def _ask_whether(self, number: int, gold: bool, predicted: bool) -> None:
        kind = "p" if predicted else "n"
        self.outcomes[number].append(("t" if gold == predicted else "f") + kind)

    def _ask_where(self, number: int, gold: str, predicted: str) -> None:
        if gold == UNKNOWN and not self.counts_unknown:
            return
        if predicted == ABSENT or (predicted == UNKNOWN and not self.counts_unknown):
            self.outcomes[number].append("fn")
        else:
            self.outcomes[number].append("tp" if is_inside(predicted, gold) else "fp")
