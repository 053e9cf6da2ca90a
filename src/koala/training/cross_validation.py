"""Cross-validation of a table's rows: each procedure is scored by a network not trained on it.

Train and dev are pooled and split into folds; each fold is dev once. ProPara's dev split alone has
43 procedures, too few to compare models; train and dev have 434.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from koala.corpora import Corpus
from koala.corpora.corpus import build_fold, name_topic
from koala.corpora.formats import read_any_grids
from koala.errors import KoalaError
from koala.evaluation import (
    Comparison,
    DocumentScores,
    RecipesScores,
    compare_documents,
)
from koala.evaluation.bootstrap import LEAST
from koala.files import write_text
from koala.grid import Grid
from koala.tasks import Task, find_task
from koala.training.loop import ShowBatches, Tell
from koala.training.report import MBR, VITERBI, RunReport
from koala.training.run import DataSource
from koala.training.sweep import (
    Ablation,
    RowResult,
    format_spread,
    read_row,
    run_or_read,
)

Scores = DocumentScores | RecipesScores


@dataclass(frozen=True, slots=True)
class Folds:
    """The number of folds, and which of them are scored."""

    total: int
    only: tuple[int, ...] = ()
    """Numbers of folds, from 1; fewer folds are faster and less precise. Empty: all."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The folds that are scored, in order."""
        return tuple(sorted(set(self.only))) or tuple(range(1, self.total + 1))

    @property
    def name(self) -> str:
        """The part of file names that says which folds were scored."""
        return "-".join([f"{self.total}-folds", *map(str, self.numbers if self.only else ())])

    def describe(self) -> str:
        """Say in words which procedures are scored."""
        if not self.only:
            return (
                f"{self.total}-fold cross-validation on train and dev: each procedure is scored by "
                "the network that was not trained on it"
            )
        numbers = ", ".join(map(str, self.numbers))
        return f"The procedures of train and dev in fold {numbers} of {self.total}"


@dataclass(frozen=True, slots=True)
class ValidatedRow:
    """A row over all folds: its runs, and the scores of all procedures pooled."""

    result: RowResult
    viterbi: Scores
    """Scores of Viterbi decoding."""
    mbr: Scores | None
    """Scores of MBR decoding, if the task has it."""
    comparison: Comparison | None = None
    """Comparison with the first row; None for too few procedures, and for Recipes."""

    @property
    def best(self) -> Scores:
        """The scores by which rows are compared: MBR, if the task has it."""
        return self.mbr or self.viterbi


def run_folds(
    ablation: Ablation,
    source: DataSource,
    folder: Path,
    *,
    folds: Folds,
    tell: Tell = lambda _: None,
    show_batches: ShowBatches = lambda _done, _total: None,
) -> list[ValidatedRow]:
    """Train every row on every fold with the table's first seed, unless that run is finished."""
    seed = ablation.seeds[0]
    settings = [read_row(ablation, row, seed) for row in ablation.rows]
    sources = {n: source.over(_build_fold(source.corpus, n, folds)) for n in folds.numbers}
    gold = {
        example.procedure.id: example.gold
        for fold in sources.values()
        for example in fold.corpus.take("dev")
        if example.gold is not None
    }
    runs: list[list[Path]] = [[] for _ in ablation.rows]
    reports: list[list[RunReport]] = [[] for _ in ablation.rows]
    for number, fold in sources.items():
        for row, own, paths, found in zip(ablation.rows, settings, runs, reports, strict=True):
            run = folder / f"{row.slug}-seed{seed}-fold{number}of{folds.total}"
            tell(f"{row.name}, fold {number} of {folds.total}: {run}")
            paths.append(run)
            found.append(run_or_read(own, fold, run, tell=tell, show_batches=show_batches))
    first, *others = (
        _validate(RowResult(row, tuple(found)), paths, find_task(own), gold)
        for row, own, found, paths in zip(ablation.rows, settings, reports, runs, strict=True)
    )
    topics = _find_topics([fold.corpus for fold in sources.values()])
    return [
        first,
        *(replace(row, comparison=_compare(row.best, first.best, topics)) for row in others),
    ]


def _build_fold(corpus: Corpus, number: int, folds: Folds) -> Corpus:
    fold = build_fold(corpus, number, folds.total)
    if not (fold.splits["train"] and fold.splits["dev"]):
        n = len(corpus.take("train")) + len(corpus.take("dev"))
        raise KoalaError(
            f"{folds.total} folds are too many for {n} procedures: fold {number} is empty. Choose "
            "fewer folds."
        )
    return fold


def _validate(
    result: RowResult, runs: Sequence[Path], task: Task, gold: dict[str, Grid]
) -> ValidatedRow:
    """Pool the grids of all folds and score them."""
    suffix, _ = task.write(())
    viterbi, mbr = (_read_all([run / f"{name}{suffix}" for run in runs]) for name in (VITERBI, MBR))
    return ValidatedRow(result, task.score(viterbi, gold), task.score(mbr, gold) if mbr else None)


def _read_all(paths: Sequence[Path]) -> dict[str, Grid]:
    if not all(path.is_file() for path in paths):
        return {}
    return {id: grid for path in paths for id, grid in read_any_grids(path).items()}


def _find_topics(corpora: Sequence[Corpus]) -> dict[str, str] | None:
    """Give the question of every scored procedure; None if one has no question, or for too few."""
    procedures = [e.procedure for corpus in corpora for e in corpus.take("dev")]
    topics = {procedure.id: name_topic(procedure.question) for procedure in procedures}
    is_known = all(topics.values()) and len(set(topics.values())) >= LEAST
    return topics if is_known else None


def _compare(one: Scores, other: Scores, topics: dict[str, str] | None) -> Comparison | None:
    if isinstance(one, RecipesScores) or isinstance(other, RecipesScores):
        return None
    if len(one.per_process) < LEAST:
        return None
    return compare_documents(one, other, questions=topics)


def render_folds(ablation: Ablation, rows: Sequence[ValidatedRow], folds: Folds) -> str:
    """Render the rows in Markdown: scores of all procedures pooled, and the spread over folds."""
    head = ["model", "F1, Viterbi", "P", "R", "F1, MBR", "against the first row, 95 %"]
    head += ["F1 of folds", "NLL: tags", "locations"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for row in rows:
        overall = row.best.overall
        cells = [row.result.row.name, f"{100 * row.viterbi.overall.f1:.1f}"]
        cells += [f"{100 * value:.1f}" for value in (overall.precision, overall.recall, overall.f1)]
        cells.append(_format_comparison(row.comparison))
        key = ("document", "overall", "f1") if row.mbr is None else ("mbr", "f1")
        cells.append(format_spread(100, *row.result.mean(*key)))
        cells += [f"{value:.3f}" for value in _average_nll(row.result.reports)]
        lines.append(f"| {' | '.join(cells)} |")
    epoch = (
        "scores of the last epoch."
        if all(row.result.is_last for row in rows)
        else "scores of the epoch that is best on the scored fold, so they are optimistic."
    )
    about = (
        f"{folds.describe()}; {epoch} P, R and the difference are those of MBR decoding if the "
        f"task has it{_describe_drawing(rows)}. NLL is measured with temperatures fitted on the "
        f"fold. Seed {ablation.seeds[0]}."
    )
    return "\n".join([ablation.reproduces, "", *lines, "", about, ""])


def _describe_drawing(rows: Sequence[ValidatedRow]) -> str:
    """Say what the intervals were drawn by."""
    drawn = next((row.comparison for row in rows if row.comparison), None)
    return f"; intervals are drawn by {drawn.drawn_by} ({drawn.drawn})" if drawn else ""


def _format_comparison(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    low, high = 100 * comparison.low, 100 * comparison.high
    return f"{100 * comparison.f1_difference:+.1f} ({low:+.1f} to {high:+.1f})"


def _average_nll(reports: Sequence[RunReport]) -> list[float]:
    known = [report.nll or (math.nan, math.nan) for report in reports]
    return [sum(column) / len(column) for column in zip(*known, strict=True)]


def list_folds(rows: Sequence[ValidatedRow]) -> list[dict[str, object]]:
    """Give all numbers as plain values, for JSON."""
    found = []
    for row in rows:
        values = asdict(row.result) | {
            "viterbi": row.viterbi.overall.to_dict(),
            "mbr": row.mbr.overall.to_dict() if row.mbr else None,
            "compare": row.comparison.to_dict() if row.comparison else None,
            "signature": row.best.signature,
        }
        found.append(values)
    return found


def write_folds(
    ablation: Ablation, rows: Sequence[ValidatedRow], folds: Folds, folder: Path
) -> None:
    """Write the table as Markdown and JSON into the folder of the runs, named after its file."""
    name = f"{ablation.path.stem}-{folds.name}"
    write_text(folder / f"{name}.md", render_folds(ablation, rows, folds))
    write_text(folder / f"{name}.json", json.dumps(list_folds(rows), indent=2) + "\n")
