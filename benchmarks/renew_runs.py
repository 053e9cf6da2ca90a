"""Make the reported numbers of a shipped model again: predictions, scores, error analysis.

    KOALA_DATA=… python benchmarks/renew_runs.py koala-base

Every file of results/runs/ that names the model as shipped or measured has the commands of its
numbers. Those that predict, evaluate or count errors are run here, from the folder of the
repository, and the new scores are put into the file; training and export are not run. The
predictions of ProPara's dev and test splits are written to results/predictions/. Then
`python benchmarks/results_tables.py` rewrites the tables.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from record_scores import read_commit, read_fields, read_scores, read_today

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "results" / "runs"
MODELS = ROOT / "src" / "koala" / "bundled" / "models"

Json = dict[str, Any]

_REPEATED = (
    "koala predict",
    "koala evaluate",
    "KOALA_DATA=DATA python benchmarks/errors.py",
    "KOALA_DATA=DATA python benchmarks/tracking.py",
)
"""Beginnings of the commands that are run again."""
_GROUPS = ("propara", "corpus-test", "corpus-fields", "errors", "topics", "calibration")
"""Groups that are renewed by default. Speed is measured only if asked for, on an idle machine."""
_ORDER = (*_GROUPS, "speed")


class Commands:
    """Runs commands as the files of runs write them, each only once."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.data = data
        self.folder = folder
        self._outputs: dict[str, str] = {}

    def run(self, command: str) -> str:
        """Run a command in the repository; give what it printed."""
        if command not in self._outputs:
            print(f"$ {command}", file=sys.stderr)
            words = self.translate(command)
            env = {**os.environ, "KOALA_DATA": str(self.data)}
            done = subprocess.run(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, check=True)
            self._outputs[command] = done.stdout.decode()
        return self._outputs[command]

    def translate(self, command: str) -> list[str]:
        """Put in the folder of the data, this Python, and a folder for files of no folder."""
        words = [word for word in shlex.split(command) if not word.startswith("KOALA_DATA=")]
        program = ["-m", "koala"] if words[0] == "koala" else []
        arguments = [self._find(word) for word in words[1:]]
        is_scoring = "evaluate" in words[:2] or "benchmarks/errors.py" in words
        return [sys.executable, *program, *arguments, *(["--json"] if is_scoring else [])]

    def _find(self, word: str) -> str:
        if word == "DATA" or word.startswith("DATA/"):
            return str(self.data) + word.removeprefix("DATA")
        is_file = word.endswith((".jsonl", ".tsv")) and "/" not in word
        return str(self.folder / word) if is_file else word


def main() -> None:
    """Renew all runs of one model."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=["koala-base", "koala-small"])
    parser.add_argument("--group", choices=_ORDER, nargs="*", default=_GROUPS)
    model, groups = (given := parser.parse_args()).model, given.group
    card = json.loads((MODELS / model.removeprefix("koala-") / "card.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        commands = Commands(Path(os.environ["KOALA_DATA"]).resolve(), Path(folder))
        found = {path: json.loads(path.read_text(encoding="utf-8")) for path in RUNS.glob("*.json")}
        wanted = [p for p, run in found.items() if run.get("model") == model]
        wanted = [path for path in wanted if found[path]["group"] in groups]
        # Errors are counted in the predictions that the runs on ProPara write.
        for path in sorted(wanted, key=lambda path: (_ORDER.index(found[path]["group"]), path)):
            run = found[path]
            renew(run, commands, card)
            path.write_text(json.dumps(run, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def renew(run: Json, commands: Commands, card: Json) -> None:
    """Put new scores, the network's signature, commit and date into a run."""
    if "network" in run:
        is_short = run["group"] == "speed"
        run["network"] = find_hash(card["signature"]) if is_short else card["signature"]
    if run["group"] == "calibration":
        scores = card["scores"]
        run["signature"] = scores["signature"]
        run["scores"] = {
            "error": round(scores["calibration_error"], 3),
            "error_unscaled": round(scores["calibration_error_without_temperatures"], 3),
        }
    else:
        repeat(run, commands)
    run["commit"], run["date"] = read_commit(), read_today()


def repeat(run: Json, commands: Commands) -> None:
    """Run the commands of a run that predict and score; put their scores into it."""
    repeated = [each for each in run["command"] if each.startswith(_REPEATED)]
    found = [json.loads(printed) for each in repeated if (printed := commands.run(each))]
    if run["group"] in ("errors", "topics"):
        run["scores"] = found[0][run["group"]]
        run["signature"] = found[0]["signature"]
        return
    if run["group"] == "speed":
        run["scores"], run["signature"] = read_speed(found[0]), found[0]["model"]
        return
    if run["group"] == "propara":
        commands.run(to_test(repeated))
    run["signature"] = found[0]["signature"].split()[0]
    run["scores"] = {}
    for each in found:
        fields = run["group"] == "corpus-fields"
        run["scores"] |= read_fields(each) if fields else read_scores(each, run["group"])


def read_speed(found: Json) -> dict[str, float]:
    """Give the figures of benchmarks/tracking.py under the names that the tables use."""
    return {
        "paragraphs_per_second": round(
            found["paragraphs"] / found["seconds_for_all"]["text to grid"], 1
        ),
        "network_paragraphs_per_second": found["paragraphs_per_second"]["onnx"],
        "times_the_floor": found["times_the_floor"]["onnx"],
        "start_seconds": found["start_to_first_grid_seconds"],
        "memory_mb": found["peak_memory_mb"],
    }


def find_hash(signature: str) -> str:
    """Give the hash of the network in the signature of a model."""
    return next(
        each.removeprefix("network:") for each in signature.split("|") if "network:" in each
    )


def to_test(commands: Sequence[str]) -> str:
    """Give the command that predicts the test split, from the one that predicts dev."""
    [predict] = [each for each in commands if each.startswith("koala predict")]
    return predict.replace("/dev/", "/test/").replace(".dev.", ".test.")


if __name__ == "__main__":
    main()
