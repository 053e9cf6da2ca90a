"""Put the scores that `koala evaluate --json` printed into the files of runs in results/runs/.

    koala evaluate dev.tsv --gold answers.tsv --labels DIR --compare meet.tsv --json > scores.json
    python benchmarks/record_scores.py results/runs/propara-koala-small-mbr.json scores.json

Scores, signature, commit and date of the run are replaced; its other fields stay. Several JSON
files (such as the document level and the changes of one prediction) are merged. Then
`python benchmarks/results_tables.py` rewrites the tables.
"""

import argparse
import datetime
import json
import subprocess
from pathlib import Path
from typing import Any

Scores = dict[str, Any]

_CATEGORIES = {"Cat-1": "cat1", "Cat-2": "cat2", "Cat-3": "cat3", "macro-avg": "macro"}


def main() -> None:
    """Merge the scores of all given files into one run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("scores", type=Path, nargs="+")
    parser.add_argument("--fields", action="store_true", help="the F1 of each field of the corpus")
    parser.add_argument("--commit", default=None, help="default: the commit that is checked out")
    given = parser.parse_args()
    run = json.loads(given.run.read_text(encoding="utf-8"))
    run["scores"] = {}
    for path in given.scores:
        found = json.loads(path.read_text(encoding="utf-8"))
        run["scores"] |= read_fields(found) if given.fields else read_scores(found, run["group"])
        if path == given.scores[0]:
            run["signature"] = found["signature"]
    run["commit"] = given.commit or read_commit()
    run["date"] = read_today()
    given.run.write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_scores(found: Scores, group: str) -> Scores:
    """Give the scores of a run under the names that the tables use."""
    if "changes" in found:
        return _read_changes(found["changes"]["overall"])
    overall = found["document"]["overall"]
    if group.startswith("corpus"):
        return {"document_f1": round(100 * overall["f1"], 1)}
    scores = {name: round(100 * value, 1) for name, value in overall.items()}
    if "compare" in found:
        compare = found["compare"]
        scores |= {
            "difference": round(100 * compare["f1_difference"], 1),
            "low": round(100 * compare["low"], 1),
            "high": round(100 * compare["high"], 1),
        }
    for name, question in found["document"]["questions"].items():
        scores[name] = round(100 * question["f1"], 1)
    for name, ours in _CATEGORIES.items():
        if name in found.get("sentence", {}):
            scores[ours] = round(found["sentence"][name], 2)
    return scores


def read_fields(found: Scores) -> Scores:
    """Give the F1 of changes with their location, by field."""
    fields = found["changes"]["fields"]
    return {name: round(each["changes_with_location"]["f1"], 2) for name, each in fields.items()}


def _read_changes(overall: Scores) -> Scores:
    changes, located = overall["changes"], overall["changes_with_location"]
    return {
        "changes_f1": round(changes["f1"], 4),
        "changes_low": round(changes["interval"][0], 4),
        "changes_high": round(changes["interval"][1], 4),
        "located_precision": round(located["precision"], 4),
        "located_recall": round(located["recall"], 4),
        "located_f1": round(located["f1"], 4),
        "low": round(located["interval"][0], 4),
        "high": round(located["interval"][1], 4),
        "cells": round(100 * overall["cells"], 2),
    }


def read_today() -> str:
    """Give the date of today."""
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()


def read_commit() -> str:
    """Give the short hash of the commit that is checked out."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
