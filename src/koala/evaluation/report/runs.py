"""Runs as results report them: one JSON file for each run or measurement."""

import math
from pathlib import Path
from typing import Any

from koala.errors import FileError
from koala.files import parse_json, read_text

Run = dict[str, Any]

KEYS = ("name", "group", "model", "settings", "commit", "seed", "signature", "decoding", "scores",
        "command", "date", "status")  # fmt: skip
"""Fields of every run; further ones may follow."""
STATUSES = ("shipped", "trained", "measured", "published")


def read_runs(folder: Path) -> list[Run]:
    """Read and check all runs of a folder, ordered by their field `order`, then by name."""
    runs = []
    for path in folder.glob("*.json"):
        run = parse_json(read_text(path))
        missing = [key for key in KEYS if key not in run]
        if missing:
            raise FileError(path, f"the run lacks {', '.join(missing)}.")
        if run["name"] != path.stem:
            raise FileError(path, f"the run is called {run['name']}; expected the file's name.")
        if run["status"] not in STATUSES:
            known = ", ".join(STATUSES)
            raise FileError(path, f"the status is {run['status']!r}; expected one of {known}.")
        if not all(type(value) in (int, float) for value in run["scores"].values()):
            raise FileError(path, "scores must be numbers.")
        runs.append(run)
    return sorted(runs, key=lambda run: (run.get("order", math.inf), run["name"]))


def find_values(runs: list[Run], field: str) -> list[Any]:
    """Collect a field of the runs, which is one of their scores or one of their own."""
    found = []
    for run in runs:
        value = run["scores"].get(field, run.get(field))
        found += value if isinstance(value, list) else [value]
    return [value for value in found if value is not None and value != ""]


def choose_runs(table: dict[str, Any], runs: list[Run]) -> list[Run]:
    """Give the runs that a table shows, in the order of its groups.

    `groups`: which runs. `without`: models that are left out. `needs`: a field that the runs must
    have.
    """
    left_out, needed = table.get("without", ()), table.get("needs")
    return [
        run
        for group in table["groups"]
        for run in runs
        if run["group"] == group
        and run["model"] not in left_out
        and (needed is None or find_values([run], needed))
    ]


def group_rows(table: dict[str, Any], runs: list[Run]) -> list[list[Run]]:
    """Give the runs of each row: those that are equal in the fields of `by` share one (seeds)."""
    rows: dict[tuple[str, ...], list[Run]] = {}
    for run in choose_runs(table, runs):
        key = tuple(str(run.get(field)) for field in table.get("by", ["name"]))
        rows.setdefault(key, []).append(run)
    return list(rows.values())
