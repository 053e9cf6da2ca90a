"""The report of a finished run: predictions and scores on dev, attention, learning curve."""

import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from koala.display.plots import draw_curve
from koala.evaluation import DocumentScores, RecipesScores, score_sentence
from koala.evaluation.actions import count_actions
from koala.evaluation.labels import ProcessLabels
from koala.files import parse_json, read_text, write_text
from koala.grid import Grid
from koala.inference.calibration import Calibration, read_calibration
from koala.inference.predict import decode_grids, sign_triples
from koala.inference.scoring import score_all
from koala.tasks import Task, find_task
from koala.training.attention_analysis import measure_attention
from koala.training.calibration import find_temperatures, measure_nll
from koala.training.checkpoint import BEST, load_checkpoint
from koala.training.log import LOG, read_log
from koala.training.loop import Training

REPORT, CURVE = "report.json", "curve.svg"
VITERBI, MBR = "dev", "mbr"
"""Names of the files with the predictions on dev, by decoding; the task gives the suffix."""
_OLD_NAMES = {"surprise": "nll", "expected": "mbr"}
"""Names in the reports of earlier versions."""
CALIBRATION = "calibration.json"
"""Calibration of a run, as `koala calibrate` writes it; not every run has one."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """Scores on dev of the selected epoch of a run."""

    seed: int
    epoch: int
    """The selected epoch."""
    document: dict[str, Any]
    """As in `koala evaluate --json`, without the single procedures; always has `overall`."""
    sentence: dict[str, Any]
    """Scores of ProPara's sentence-level evaluation; empty for other corpora."""
    actions: dict[str, int]
    """Number of predicted actions of each kind."""
    attention: dict[str, float] | None
    """Values of `AttentionFigures`."""
    seconds_per_epoch: float
    peak_memory_mb: float
    signature: str
    last_f1: float | None = None
    """F1 of the last epoch, whichever epoch was selected."""
    temperatures: list[float] | None = None
    """Temperatures of tags and locations, fitted on dev."""
    mbr: dict[str, float] | None = None
    """Precision, recall and F1 of MBR decoding with these temperatures."""
    nll: list[float] | None = None
    """Mean NLL of gold tags and gold locations with these temperatures."""
    selection: str | None = None
    """How the epoch was selected: `training.selection`."""
    knowledge: str | None = None
    """Signature of the source of triples; `none` for a network without knowledge."""


def write_report(training: Training, labels: dict[str, ProcessLabels] | None) -> RunReport:
    """Predict and score dev with the selected epoch; write predictions and report to the run."""
    progress = load_checkpoint(training.folder / BEST, training.model)
    data, settings = training.data, training.settings
    task = find_task(settings)
    scored = score_all(training.scorer, data.dev)
    temperatures = find_temperatures(scored)
    calibration = Calibration.with_temperatures(temperatures)
    grids = decode_grids(scored, task=task, calibration=calibration)
    scores = task.score(grids, data.dev_gold)
    signature, sentence = scores.signature, {}
    if settings.corpus == "propara":
        found = score_sentence({grid.id: grid for grid in grids}, data.dev_gold, labels)
        signature, sentence = f"{signature} {found.signature}", dict(found.to_dict())
    attention = measure_attention(training.model, training.batcher, data.dev)
    epochs = read_log(training.folder / LOG)
    mbr = None
    if "mbr" in task.decodings:
        mbr_grids = training.decode_mbr(scored, temperatures)
        mbr = task.score(mbr_grids, data.dev_gold).overall.to_dict()
        _write_grids(mbr_grids, training.folder, MBR, task)
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
        mbr=mbr,
        nll=[*measure_nll(scored, temperatures)],
        selection=settings.training.selection,
        knowledge=sign_triples(settings.knowledge),
    )
    _write_grids(grids, training.folder, VITERBI, task)
    draw_curve([asdict(line) for line in epochs], training.folder / CURVE)
    # Written last, because the report marks a run as finished.
    write_text(training.folder / REPORT, json.dumps(asdict(report), indent=2) + "\n")
    return report


def read_report(folder: Path) -> RunReport | None:
    """Read the report of a run; give None if the run is not finished."""
    path = folder / REPORT
    if not path.is_file():
        return None
    values = parse_json(read_text(path))
    return RunReport(**{_OLD_NAMES.get(name, name): value for name, value in values.items()})


def read_run_calibration(folder: Path) -> Calibration:
    """Read the calibration of a run: its calibration file, else the temperatures of its report."""
    path = folder / CALIBRATION
    if path.is_file():
        return read_calibration(path)
    report = read_report(folder)
    if report is None or report.temperatures is None:
        return Calibration()
    return Calibration.with_temperatures((report.temperatures[0], report.temperatures[1]))


def _without_processes(scores: DocumentScores | RecipesScores) -> dict[str, Any]:
    values: dict[str, Any] = {"overall": scores.overall.to_dict()}
    return values | {k: v for k, v in scores.to_dict().items() if k != "per_process"}


def _write_grids(grids: Sequence[Grid], folder: Path, name: str, task: Task) -> None:
    suffix, content = task.write(grids)
    write_text(folder / f"{name}{suffix}", content)


def _peak_memory_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
