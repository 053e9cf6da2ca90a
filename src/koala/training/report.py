"""What a finished run has to say: predictions, scores, counts, attention, a picture."""

import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from koala.corpora.recipes import write_grids
from koala.display.plots import draw_curve
from koala.evaluation import DocumentScores, RecipesScores, score_corpus, score_sentence
from koala.evaluation.actions import count_actions
from koala.evaluation.labels import ProcessLabels
from koala.files import parse_json, read_text, write_text
from koala.grid import Grid
from koala.prediction import decode_grids, score_items
from koala.training.attention import measure_attention
from koala.training.calibration import find_temperatures, measure_surprise
from koala.training.checkpoint import BEST, load_checkpoint
from koala.training.loop import LOG, Training, read_log

REPORT, CURVE = "report.json", "curve.svg"
PREDICTIONS, RECIPES = "dev.tsv", "dev.jsonl"
EXPECTED, EXPECTED_RECIPES = "expected.tsv", "expected.jsonl"
"""Grids as they are decoded, and those with the best expected score."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run: how the epoch that is kept does on dev."""

    seed: int
    epoch: int
    document: dict[str, Any]
    """As `koala evaluate --json` has it, without the single processes; `overall` in any case."""
    sentence: dict[str, Any]
    """The published sentence level; of Recipes nothing."""
    actions: dict[str, int]
    attention: dict[str, float] | None
    seconds_per_epoch: float
    peak_memory_mb: float
    signature: str
    last_f1: float | None = None
    """Of the last epoch, which nobody chose."""
    temperatures: list[float] | None = None
    """Of tags and places, found on dev."""
    expected: dict[str, float] | None = None
    """Precision, recall and F1 of the grids with the best expected score, under temperatures."""
    surprise: list[float] | None = None
    """Mean −log p of gold tags and places, under temperatures."""
    selection: str | None = None
    """Whose F1 chose the epoch; "last": nobody's."""


def write_report(training: Training, labels: dict[str, ProcessLabels] | None) -> RunReport:
    """Predict dev with the epoch that is kept, score it, and write all of it beside the weights."""
    progress = load_checkpoint(training.folder / BEST, training.model)
    data, settings = training.data, training.settings
    scored = list(score_items(training.scorer, data.dev))
    temperatures = find_temperatures(scored)
    grids = decode_grids(data.dev, scored, settings=settings.decoder, temperatures=temperatures)
    scores = score_corpus(settings.corpus, grids, data.dev_gold)
    signature, sentence = scores.signature, {}
    if settings.corpus == "propara":
        found = score_sentence({grid.id: grid for grid in grids}, data.dev_gold, labels)
        signature, sentence = f"{signature} {found.signature}", dict(found.to_dict())
    attention = measure_attention(training.model, training.batcher, data.dev)
    epochs = read_log(training.folder / LOG)
    is_recipes = settings.corpus == "recipes"
    expected = None
    if settings.has_expected:
        best = training.decode_expected(scored, temperatures)
        expected = score_corpus(settings.corpus, best, data.dev_gold).overall.to_dict()
        _write_grids(best, training.folder / (EXPECTED_RECIPES if is_recipes else EXPECTED))
    report = RunReport(
        seed=settings.training.seed,
        epoch=progress.epoch,
        document=_without_processes(scores),
        sentence=sentence,
        actions=count_actions(grids),
        attention=asdict(attention) if attention else None,
        seconds_per_epoch=sum(line.seconds for line in epochs) / len(epochs),
        peak_memory_mb=_peak_memory_mb(),
        signature=signature,
        last_f1=epochs[-1].f1,
        temperatures=[*temperatures],
        expected=expected,
        surprise=[*measure_surprise(scored, temperatures)],
        selection=settings.training.selection,
    )
    _write_grids(grids, training.folder / (RECIPES if is_recipes else PREDICTIONS))
    draw_curve([asdict(line) for line in epochs], training.folder / CURVE)
    # The report comes last: where it is, a run is finished.
    write_text(training.folder / REPORT, json.dumps(asdict(report), indent=2) + "\n")
    return report


def read_report(folder: Path) -> RunReport | None:
    """Read the report of a finished run; None where it is not finished."""
    path = folder / REPORT
    return RunReport(**parse_json(read_text(path))) if path.is_file() else None


def _without_processes(scores: DocumentScores | RecipesScores) -> dict[str, Any]:
    values: dict[str, Any] = {"overall": scores.overall.to_dict()}
    return values | {k: v for k, v in scores.to_dict().items() if k != "per_process"}


def _write_grids(grids: Sequence[Grid], path: Path) -> None:
    is_tsv = path.suffix == ".tsv"
    write_text(path, "".join(g.to_tsv() for g in grids) if is_tsv else write_grids(grids))


def _peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
