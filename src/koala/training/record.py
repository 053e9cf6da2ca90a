"""Finished runs of a table as files of results, from which pages are made."""

import datetime
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from koala.corpora import Corpus
from koala.corpora.corpus import name_topic
from koala.corpora.formats import read_any_grids
from koala.errors import KoalaError
from koala.evaluation import DocumentScores, score_document
from koala.evaluation.actions import count_actions
from koala.evaluation.document import QUESTIONS
from koala.files import write_text
from koala.grid import Grid
from koala.training.report import VITERBI, RunReport, read_report
from koala.training.sweep import Ablation, AblationRow, read_row

_CATEGORIES = {"Cat-1": "cat1", "Cat-2": "cat2", "Cat-3": "cat3", "macro-avg": "macro"}
_ACTIONS = {"CREATE": "created", "MOVE": "moved", "DESTROY": "destroyed"}

Scores = dict[str, float]


def record_runs(
    ablation: Ablation, corpus: Corpus, runs: Path, results: Path, *, n_folds: int | None = None
) -> list[Path]:
    """Write a file of results for every finished run of a table; give the files.

    The group of the runs is the name of the table. With folds, the procedures of all folds are
    scored together, and the group's name ends in `-folds`.
    """
    if corpus.name != "propara":
        raise KoalaError(f"Only runs on ProPara can be recorded; the corpus is {corpus.name}.")
    written = []
    for number, row in enumerate(ablation.rows, 1):
        for seed in ablation.seeds if n_folds is None else ablation.seeds[:1]:
            run = _find_run(row, runs, seed, n_folds)
            reports = [read_report(path) for path in run]
            finished = [report for report in reports if report is not None]
            if len(finished) < len(run):
                continue
            values = _describe(ablation, row, corpus, run, finished, seed)
            group = ablation.path.stem if n_folds is None else f"{ablation.path.stem}-folds"
            command = _write_command(ablation, runs, n_folds)
            values |= {"group": group, "order": 10 * number, "command": [command]}
            name = f"{group}-{row.slug}-seed{seed}"
            written.append(results / "runs" / f"{name}.json")
            content = json.dumps({"name": name, **values}, indent=1, ensure_ascii=False)
            write_text(written[-1], content + "\n")
    return written


def _find_run(row: AblationRow, runs: Path, seed: int, n_folds: int | None) -> list[Path]:
    """Give the folder of a run, or those of its folds, named as the commands name them."""
    name = f"{row.slug}-seed{seed}"
    if n_folds is None:
        return [runs / name]
    return [runs / f"{name}-fold{number}of{n_folds}" for number in range(1, n_folds + 1)]


def _write_command(ablation: Ablation, runs: Path, n_folds: int | None) -> str:
    folds = f" --folds {n_folds}" if n_folds else ""
    return f"koala ablate {ablation.path} --data DATA/propara{folds} -o {runs}"


def _describe(
    ablation: Ablation,
    row: AblationRow,
    corpus: Corpus,
    runs: Sequence[Path],
    reports: Sequence[RunReport],
    seed: int,
) -> dict[str, Any]:
    """Give the fields of a run's file, without name, group and command."""
    predicted = {
        id: grid
        for run in runs
        for id, grid in read_any_grids(run / f"{VITERBI}.tsv", is_scored=True).items()
    }
    examples = [e for split in ("train", "dev") for e in corpus.take(split)]
    gold = {e.procedure.id: e.gold for e in examples if e.gold and e.procedure.id in predicted}
    scores = score_document(predicted, gold)
    topics = {e.procedure.id: name_topic(e.procedure.question) for e in examples}
    settings = read_row(ablation, row, seed)
    return {
        "model": row.name,
        "encoder": settings.encoder.name,
        "settings": str(ablation.path),
        "commit": _read_commit(),
        "seed": seed,
        "split": "dev" if len(runs) == 1 else f"train and dev, {len(runs)} folds",
        "decoding": "Viterbi",
        "signature": scores.signature,
        "knowledge": reports[0].knowledge,
        "scores": _read_scores(row, scores, reports, predicted, gold),
        "processes": _list_processes(scores, topics),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "status": "trained",
    }


def _read_scores(
    row: AblationRow,
    scores: DocumentScores,
    reports: Sequence[RunReport],
    predicted: Mapping[str, Grid],
    gold: Mapping[str, Grid],
) -> Scores:
    found = {name: _percent(value) for name, value in scores.overall.to_dict().items()}
    for name in QUESTIONS:
        measures = scores.questions[name].to_dict()
        found |= {f"{name}_{measure}": _percent(value) for measure, value in measures.items()}
        found[name] = found[f"{name}_f1"]
    for prefix, grids in (("", predicted), ("gold_", gold)):
        counts = count_actions(grids.values())
        found |= {f"{prefix}{ours}": counts[name] for name, ours in _ACTIONS.items()}
    paper = {"precision": row.paper_precision, "recall": row.paper_recall, "f1": row.paper_f1}
    found |= {f"paper_{name}": value for name, value in paper.items() if value is not None}
    return found | (_read_report(reports[0]) if len(reports) == 1 else {})


def _read_report(report: RunReport) -> Scores:
    """Give the numbers that only the report of a single run has."""
    found: Scores = {"epoch": report.epoch, "seconds_per_epoch": round(report.seconds_per_epoch, 1)}
    if report.last_f1 is not None:
        found["last_f1"] = _percent(report.last_f1)
    if report.mbr:
        found["mbr_f1"] = _percent(report.mbr["f1"])
    if report.nll:
        found["nll_tags"], found["nll_locations"] = (round(value, 4) for value in report.nll)
    if report.attention:
        found["weight"] = round(report.attention["weight"], 3)
        found["top"] = _percent(report.attention["top"])
        found["labelled_steps"] = report.attention["steps"]
    sentence = report.sentence
    return found | {
        o: round(sentence[name], 2) for name, o in _CATEGORIES.items() if name in sentence
    }


def _list_processes(scores: DocumentScores, topics: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Give precision and recall of each procedure, and the number of its question."""
    numbers: dict[str, int] = {}
    return {
        id: {
            "question": numbers.setdefault(topics[id] or id, len(numbers) + 1),
            **{
                name: [round(score.precision, 4), round(score.recall, 4)]
                for name, score in own.items()
            },
        }
        for id, own in scores.per_process.items()
    }


def _percent(value: float) -> float:
    return round(100 * value, 1)


def _read_commit() -> str:
    """Give the short hash of the commit that is checked out; empty outside a repository."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
