"""Ablations: tables whose rows are settings, each trained with several seeds."""

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from koala.display.plots import draw_bars
from koala.errors import FileError, KoalaError
from koala.evaluation.actions import count_actions
from koala.files import write_text
from koala.settings import Settings
from koala.settings.old_names import translate
from koala.settings.toml import build_settings, merge_values, read_values
from koala.training.loop import ShowBatches, Tell
from koala.training.report import RunReport, read_report
from koala.training.run import DataSource, check_folder, train

_CATEGORIES = ("Cat-1", "Cat-2", "Cat-3")
_TABLES = tuple(e.name for e in fields(Settings) if e.name not in ("reproduces", "corpus"))
"""The tables of a settings file."""


@dataclass(frozen=True, slots=True)
class AblationRow:
    """A row: a settings file, values that replace those of the file, and the paper's scores."""

    name: str
    settings: str
    """Path of the settings file, relative to the table's file."""
    overrides: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Values that replace those of the settings file, in tables as there."""
    paper_precision: float | None = None
    """The paper's scores on test."""
    paper_recall: float | None = None
    paper_f1: float | None = None

    @property
    def slug(self) -> str:
        """The row's name in the folders of its runs: `− ConceptNet` is `minus-conceptnet`."""
        words = re.findall(r"[a-z0-9]+", self.name.lower().replace("−", " minus "))
        return "-".join(words)


@dataclass(frozen=True, slots=True)
class Ablation:
    """A table of runs, as its file describes it."""

    path: Path
    reproduces: str
    """What the table reproduces, in a sentence."""
    seeds: tuple[int, ...]
    rows: tuple[AblationRow, ...]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Values that replace those of the settings files of all rows; a row's own values win."""

    def choose(self, names: Sequence[str]) -> "Ablation":
        """Give the table with some of its rows, by name; with no names, the whole table."""
        known = {row.name: row for row in self.rows}
        for name in names:
            if name not in known:
                raise KoalaError(
                    f"{self.path} has no row {name!r}. Rows: {', '.join(map(repr, known))}."
                )
        return replace(self, rows=tuple(known[name] for name in names)) if names else self


@dataclass(frozen=True, slots=True)
class RowResult:
    """A row and the runs of all its seeds."""

    row: AblationRow
    reports: tuple[RunReport, ...] = field(default=())

    @property
    def is_last(self) -> bool:
        """Whether all runs selected the last epoch, and not an epoch by its dev score."""
        return all(report.selection == "last" for report in self.reports)

    def mean(self, *keys: str) -> tuple[float, float]:
        """Give mean and standard deviation, over the runs, of a number of the report."""
        values = [_get_number(report, keys) for report in self.reports]
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _get_number(report: RunReport, keys: Sequence[str]) -> float:
    """Get a number of a report by its keys: `document`, `overall`, `f1`."""
    value = getattr(report, keys[0])
    for key in keys[1:]:
        value = value[key]
    return float(value)


def read_ablation(path: Path) -> Ablation:
    """Read the file of a table: `reproduces`, `seeds`, and `[[row]]`s.

    `settings` names the settings file of all rows; a row may name another one, and replaces single
    values in its own tables (`[row.knowledge]`). A table of settings at the top (`[training]`)
    replaces values of all rows. With `extends`, what the file does not say is that of another
    table.
    """
    try:
        return _build_ablation(path, read_values(path))
    except FileError:
        raise
    except (KoalaError, TypeError) as error:
        raise FileError(path, str(error)) from None


def _build_ablation(path: Path, values: Mapping[str, Any]) -> Ablation:
    rows, seeds = values.get("row"), values.get("seeds")
    if not isinstance(rows, list) or not rows:
        raise KoalaError(
            "no [[row]] here; expected the file of a table. Train a single settings file with "
            "`koala train`."
        )
    if not isinstance(seeds, list) or not seeds or not all(type(s) is int for s in seeds):
        raise KoalaError(f"seeds is {seeds!r}; expected a list of whole numbers, such as [0, 1].")
    unknown = sorted(values.keys() - {"reproduces", "settings", "seeds", "row", *_TABLES})
    if unknown:
        raise KoalaError(
            f"{unknown[0]} is unknown. A table has reproduces, settings, seeds, [[row]], and "
            f"values for all rows in {', '.join(f'[{name}]' for name in _TABLES)}."
        )
    overrides = {name: values[name] for name in _TABLES if name in values}
    if not all(isinstance(table, dict) for table in overrides.values()):
        raise KoalaError(f"{next(iter(overrides))} must be a table.")
    if "seed" in overrides.get("training", {}):
        raise KoalaError("[training] must be a table without a seed; `seeds` gives the seeds.")
    built = tuple(
        _build_row(row, str(values.get("settings", "")), f"row {number}: ")
        for number, row in enumerate(rows, 1)
    )
    names = [row.slug for row in built]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise KoalaError(f"two rows have the same name, {twice}. Rename one of them.")
    return Ablation(path, str(values.get("reproduces", "")), tuple(seeds), built, overrides)


def _build_row(values: Mapping[str, Any], settings: str, where: str) -> AblationRow:
    plain = {name: value for name, value in values.items() if name not in _TABLES}
    if settings:
        plain.setdefault("settings", settings)
    overrides = {name: value for name, value in values.items() if name in _TABLES}
    if not all(isinstance(table, dict) for table in overrides.values()):
        raise KoalaError(f"{where}{next(iter(overrides))} must be a table.")
    return replace(build_settings(AblationRow, plain, where), overrides=overrides)


def find_corpus_name(ablation: Ablation) -> str:
    """Give the corpus of all rows of a table."""
    names = {row.name: read_row(ablation, row).corpus for row in ablation.rows}
    if len(set(names.values())) > 1:
        listed = ", ".join(f"{row}: {corpus}" for row, corpus in names.items())
        raise FileError(
            ablation.path, f"the rows are for several corpora ({listed}); expected one for all."
        )
    return next(iter(names.values()))


def read_row(ablation: Ablation, row: AblationRow, seed: int | None = None) -> Settings:
    """Read the settings of a row: its file, the table's values, its own values, the seed."""
    values = read_values(ablation.path.parent / row.settings)
    own = {} if seed is None else {"seed": seed}
    tables = [ablation.overrides, row.overrides, {"training": own}]
    try:
        for table in tables:
            values = merge_values(values, table)
        return build_settings(Settings, translate(values))
    except KoalaError as error:
        raise FileError(ablation.path, str(error)) from None


def run_ablation(
    ablation: Ablation,
    source: DataSource,
    folder: Path,
    *,
    tell: Tell = lambda _: None,
    show_batches: ShowBatches = lambda _done, _total: None,
) -> list[RowResult]:
    """Train every row with every seed, unless that run is finished.

    The first seed of all rows comes first, so that a stopped table is complete for some seeds.
    """
    found: dict[tuple[str, int], RunReport] = {}
    # All settings are read first, so that mistakes are found before the first run.
    settings = {row: read_row(ablation, row) for row in ablation.rows}
    for seed in ablation.seeds:
        for row in ablation.rows:
            run = folder / f"{row.slug}-seed{seed}"
            tell(f"{row.name}, seed {seed}: {run}")
            own = replace(settings[row], training=replace(settings[row].training, seed=seed))
            found[row.name, seed] = run_or_read(
                own, source, run, tell=tell, show_batches=show_batches
            )
    return [
        RowResult(row, tuple(found[row.name, seed] for seed in ablation.seeds))
        for row in ablation.rows
    ]


def run_or_read(
    settings: Settings, source: DataSource, run: Path, *, tell: Tell, show_batches: ShowBatches
) -> RunReport:
    """Give the report of a run; train or resume it first if it is not finished."""
    # A finished run with different settings does not belong to this table.
    check_folder(run, settings, resume=True, corpus=source.corpus)
    return read_report(run) or train(
        settings, source, run, resume=True, tell=tell, show_batches=show_batches
    )


def list_results(results: Sequence[RowResult]) -> list[dict[str, object]]:
    """Give all numbers of a table as plain values, for JSON: each row with its runs' reports."""
    return [asdict(result) for result in results]


def write_ablation(
    ablation: Ablation, results: Sequence[RowResult], source: DataSource, folder: Path
) -> None:
    """Write the table as Markdown and JSON, and the paper's two figures as SVG.

    The figure of ProPara's four questions is left out for Recipes. All files are named after the
    table's file, so that several tables can share a folder of runs.
    """
    name = ablation.path.stem
    write_text(folder / f"{name}.md", render_table(ablation, results))
    write_text(folder / f"{name}.json", json.dumps(list_results(results), indent=2) + "\n")
    gold = count_actions(e.gold for e in source.corpus.splits["dev"] if e.gold)
    counts = {"gold": {action: float(n) for action, n in gold.items()}}
    for result in results:
        counts[result.row.name] = {action: result.mean("actions", action)[0] for action in gold}
    path = folder / f"{name}-actions.svg"
    draw_bars(counts, path, title="State changes on dev", label="predictions")
    questions = results[0].reports[0].document.get("questions")
    if questions is None:
        return
    for measure in ("precision", "recall", "f1"):
        path = folder / f"{name}-questions-{measure}.svg"
        bars = {
            result.row.name: {
                question: 100 * result.mean("document", "questions", question, measure)[0]
                for question in questions
            }
            for result in results
        }
        draw_bars(bars, path, title=f"The four questions on dev: {measure}", label="percent")


def render_table(ablation: Ablation, results: Sequence[RowResult]) -> str:
    """Render a table in Markdown: mean ± standard deviation on dev, and the paper's test scores."""
    categories = list(_CATEGORIES) if results[0].reports[0].sentence else []
    head = [
        "model",
        "P",
        "R",
        "F1",
        "last F1",
        *categories,
        "paper P",
        "paper R",
        "paper F1",
    ]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for result in results:
        cells = [result.row.name]
        for name in ("precision", "recall", "f1"):
            cells.append(format_spread(100, *result.mean("document", "overall", name)))
        has_last = all(report.last_f1 is not None for report in result.reports)
        cells.append(format_spread(100, *result.mean("last_f1")) if has_last else "")
        for name in categories:
            cells.append(format_spread(1, *result.mean("sentence", name)))
        row = result.row
        for paper in (row.paper_precision, row.paper_recall, row.paper_f1):
            cells.append("" if paper is None else f"{paper:.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    seeds = ", ".join(map(str, ablation.seeds))
    epoch = (
        "Scores are those of the last epoch."
        if all(result.is_last for result in results)
        else "Scores are those of the epoch with the best F1 on dev, so they are optimistic; "
        "last F1 is the F1 of the last epoch."
    )
    about = (
        f"Dev, mean ± standard deviation over the seeds {seeds}. {epoch} "
        "The paper's columns are on test."
    )
    return "\n".join([ablation.reproduces, "", *lines, "", about, ""])


def format_spread(scale: float, mean: float, deviation: float) -> str:
    """Format mean ± deviation with one decimal, both times `scale`."""
    return f"{scale * mean:.1f} ± {scale * deviation:.1f}"
