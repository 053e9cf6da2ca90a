"""What a correction is worth: gold cells are fixed one at a time, the least confident first.

    python benchmarks/fixing.py --data propara/ --written corpus/ --model small -o results/runs

After each fix the grid is decoded again given all fixes (`redecoded`). Beside it, only the cell
itself is replaced (`alone`). Scores after 0, 1, 2, 3 and 5 fixes a procedure on the dev splits of
ProPara and of koala's own corpus: document F1 (ProPara), accuracy of cells, F1 of changes with
their location. For document F1, also the difference between both with a 95 % interval (paired
bootstrap over paragraphs). Writes a JSON file of a run for each corpus and number of fixes. A
corpus is skipped if its files are there already and were measured with the same network.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from record_scores import read_commit

from koala.corpora import Example, read_corpus
from koala.document import FixedCell, Procedure
from koala.errors import KoalaError
from koala.evaluation import score_document
from koala.evaluation.bootstrap import LEAST, compare_documents
from koala.evaluation.changes import score_changes
from koala.files import parse_json, read_text, write_text
from koala.grid import Grid, Row
from koala.registry import load
from koala.tracker import Tracker

NUMBERS = (0, 1, 2, 3, 5)
"""Fixes per procedure."""

Place = tuple[int, int]
"""Row of the grid and step, from 1."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both corpora."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of ProPara")
    parser.add_argument("--written", type=Path, default=Path("corpus"))
    parser.add_argument("--model", default="small")
    parser.add_argument("--decoding", default="viterbi")
    parser.add_argument("--most", type=int, help="procedures of each corpus; default: all")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the JSON files")
    given = parser.parse_args(arguments)
    given.output.mkdir(parents=True, exist_ok=True)
    tracker = load(given.model).with_decoding(given.decoding)
    folders = {"propara": given.data, "corpus": given.written}
    for name, folder in folders.items():
        if folder is not None:
            measure_corpus(name, folder, tracker, given)


def measure_corpus(name: str, folder: Path, tracker: Tracker, given: argparse.Namespace) -> None:
    """Fix cells of all procedures of a dev split and write the runs."""
    model = tracker.card.name
    paths = {n: given.output / f"fixing-{name}-{model}-{n}.json" for n in NUMBERS}
    if all(is_measured(path, tracker.signature) for path in paths.values()):
        print(f"{name}: already measured.", file=sys.stderr)
        return
    examples = read_corpus(folder).take("dev")[: given.most]
    gold = {e.procedure.id: e.gold for e in examples if e.gold}
    grids: dict[tuple[str, int], dict[str, Grid]] = {}
    n_refused = 0
    for done, example in enumerate(examples, 1):
        followed = list(fix_and_follow(tracker, example))
        alone = list(fix_alone(followed[0], example))
        for kind, found in (("redecoded", followed), ("alone", alone)):
            for n in NUMBERS:
                grids.setdefault((kind, n), {})[example.procedure.id] = found[
                    min(n, len(found) - 1)
                ]
            n_refused += max(NUMBERS) + 1 - len(found) if kind == "redecoded" else 0
        print(f"\r{name}: {done} of {len(examples)}", end="", file=sys.stderr, flush=True)
    print(f"; {n_refused} fixes were not possible", file=sys.stderr)
    for n, path in paths.items():
        scores: dict[str, float] = {"fixes": n}
        for kind in ("redecoded", "alone"):
            scores |= score(grids[kind, n], gold, f"_{kind}")
        if name == "propara":
            scores |= score_documents(grids["redecoded", n], grids["alone", n], gold)
        signature = score_changes(grids["redecoded", n], gold).signature
        run = {
            "name": path.stem,
            "group": f"fixing-{name}",
            "order": n,
            "model": model,
            "network": tracker.card.signature.split("|")[1].removeprefix("network:"),
            "settings": tracker.signature,
            "commit": read_commit(),
            "seed": 0,
            "decoding": tracker.decoding,
            "signature": signature,
            "scores": scores,
            "command": [
                f"python benchmarks/fixing.py --data DATA/propara --written corpus --model "
                f"{given.model} -o results/runs"
            ],
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "status": "measured",
        }
        write_text(path, json.dumps(run, indent=2, ensure_ascii=False) + "\n")
        print(n, json.dumps(scores))


def is_measured(path: Path, signature: str) -> bool:
    """Tell whether the run of a file was measured with the tracker of this signature."""
    return path.is_file() and parse_json(read_text(path))["settings"] == signature


def score(grids: dict[str, Grid], gold: dict[str, Grid], suffix: str) -> dict[str, float]:
    """Give the scores of grids under the names of the tables."""
    overall = score_changes(grids, gold).overall
    return {
        f"cells{suffix}": round(100 * overall.cells, 2),
        f"located{suffix}": round(100 * overall.located.f1, 2),
    }


def score_documents(
    redecoded: dict[str, Grid], alone: dict[str, Grid], gold: dict[str, Grid]
) -> dict[str, float]:
    """Give document F1 of both and, for enough procedures, their difference with an interval."""
    one, other = score_document(redecoded, gold), score_document(alone, gold)
    scores = {
        "document_redecoded": round(100 * one.overall.f1, 1),
        "document_alone": round(100 * other.overall.f1, 1),
    }
    if len(gold) < LEAST:
        return scores
    comparison = compare_documents(one, other)
    return scores | {
        "difference": round(100 * comparison.f1_difference, 1),
        "low": round(100 * comparison.low, 1),
        "high": round(100 * comparison.high, 1),
    }


def fix_and_follow(tracker: Tracker, example: Example) -> Iterator[Grid]:
    """Give the grid after 0, 1, 2, … fixes, each decoded given all fixes so far.

    A gold cell that contradicts the others (no consistent trajectory has them all) is not fixed.
    """
    procedure, fixed = example.procedure, dict[Place, str]()
    grid = tracker.track_all([procedure])[0]
    yield grid
    refused: set[Place] = set()
    while len(fixed) < max(NUMBERS):
        place = find_least_confident(grid, {*fixed, *refused})
        if place is None:
            return
        location = _find_gold(example, place)
        try:
            grid = tracker.track_all([with_fixes(procedure, {**fixed, place: location})])[0]
        except KoalaError:
            refused.add(place)
            continue
        fixed[place] = location
        yield grid


def fix_alone(original: Grid, example: Example) -> Iterator[Grid]:
    """Give the grid after 0, 1, 2, … fixes, in which only the fixed cells are replaced."""
    rows = [list(row.locations) for row in original.rows]
    yield original
    fixed: set[Place] = set()
    while len(fixed) < max(NUMBERS) and (place := find_least_confident(original, fixed)):
        fixed.add(place)
        row, step = place
        rows[row][step] = _find_gold(example, place)
        names = original.names
        yield replace(
            original,
            rows=tuple(Row.from_locations(n, own) for n, own in zip(names, rows, strict=True)),
        )


def find_least_confident(grid: Grid, known: set[Place]) -> Place | None:
    """Give the least confident cell that is not known yet; None if all are."""
    cells = [
        (cell.confidence or 0.0, (number, step))
        for number, row in enumerate(grid.rows)
        for step, cell in enumerate(row.steps, 1)
        if (number, step) not in known
    ]
    return min(cells)[1] if cells else None


def with_fixes(procedure: Procedure, fixed: dict[Place, str]) -> Procedure:
    """Give a procedure whose entities carry their fixed cells."""
    own: dict[int, list[FixedCell]] = {}
    for (row, step), location in fixed.items():
        own.setdefault(row, []).append(FixedCell(step, location))
    entities = (
        replace(entity, fixed=tuple(own.get(number, ())))
        for number, entity in enumerate(procedure.entities)
    )
    return replace(procedure, entities=tuple(entities))


def _find_gold(example: Example, place: Place) -> str:
    if example.gold is None:
        raise KoalaError(f"Procedure {example.procedure.id} has no gold grid.")
    row, step = place
    return example.gold.rows[row].locations[step]


if __name__ == "__main__":
    main()
