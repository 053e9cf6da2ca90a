"""Write the tables of the pages in results/ from the runs in results/runs/.

    python benchmarks/results_tables.py            # rewrite the pages
    python benchmarks/results_tables.py --check    # exit with 1 if a page is stale

A page holds a table between `<!-- table: NAME -->` and `<!-- end -->`. `results/tables.toml` has an
entry for each NAME: which runs the table shows, and its columns. A new run is a new JSON file.
"""

import argparse
import json
import math
import re
import statistics
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Run = dict[str, Any]

KEYS = {"name", "group", "model", "settings", "commit", "seed", "signature", "decoding", "scores",
        "command", "date", "status"}  # fmt: skip
STATUSES = {"shipped", "trained", "measured", "published"}
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
FIELD = re.compile(r"\{([\w -]+)(?::(\+?)(\d))?\}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite or check all pages; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if one is stale")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "results")
    given = parser.parse_args(arguments)
    runs = read_runs(given.folder / "runs")
    tables = tomllib.loads((given.folder / "tables.toml").read_text(encoding="utf-8"))
    shown = {group for table in tables.values() for group in table["groups"]}
    if unused := {run["group"] for run in runs} - shown:
        raise ValueError(f"No table shows the group {', '.join(sorted(unused))}.")
    stale = []
    for page in sorted(given.folder.rglob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = MARKED.sub(lambda m: m[1] + write_table(tables[m[2]], runs) + m[3], old)
        if new != old:
            stale.append(page)
            if not given.check:
                page.write_text(new, encoding="utf-8")
    for page in stale:
        print(f"{page}: {'stale' if given.check else 'rewritten'}")
    return 1 if stale and given.check else 0


def read_runs(folder: Path) -> list[Run]:
    """Read and check all runs, ordered by their field `order`, then by name."""
    runs = []
    for path in folder.glob("*.json"):
        run = json.loads(path.read_text(encoding="utf-8"))
        if missing := KEYS - run.keys():
            raise ValueError(f"{path} lacks {', '.join(sorted(missing))}.")
        if run["name"] != path.stem or run["status"] not in STATUSES:
            raise ValueError(f"{path}: the name must be the file's, the status of {STATUSES}.")
        if not all(type(value) in (int, float) for value in run["scores"].values()):
            raise ValueError(f"{path}: scores must be numbers.")
        runs.append(run)
    return sorted(runs, key=lambda run: (run.get("order", math.inf), run["name"]))


def write_table(table: dict[str, Any], runs: list[Run]) -> str:
    """Write a table as Markdown, or the commands of its runs as a block of code.

    `groups`: which runs. `by`: runs equal in these fields share a row (seeds). `columns`: pairs of
    a heading and a template of the cell. `transpose`: runs become columns. `join`: groups whose
    fields a cell may take from runs of the same model.
    """
    chosen = [run for group in table["groups"] for run in runs if run["group"] == group]
    if table.get("commands"):
        lines = dict.fromkeys(line for run in chosen for line in run["command"])
        return "```console\n" + "".join(f"$ {line}\n" for line in lines) + "```\n"
    rows: dict[tuple[str, ...], list[Run]] = {}
    for run in chosen:
        key = tuple(str(run.get(field)) for field in table.get("by", ["name"]))
        rows.setdefault(key, []).append(run)
    cells = [[heading for heading, _ in table["columns"]]]
    for same in rows.values():
        joined = [run for run in runs if run["group"] in table.get("join", ())]
        others = [run for run in joined if run["model"] == same[0]["model"]]
        cells.append([write_cell(template, same, others) for _, template in table["columns"]])
    if table.get("transpose"):
        cells = [list(row) for row in zip(*cells, strict=True)]
    cells.insert(1, ["---"] * len(cells[0]))
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def write_cell(template: str, same: list[Run], others: list[Run]) -> str:
    """Fill a template such as `{f1:1} ({low:+1} to {high:+1})`; empty if a field is missing.

    A digit asks for a number with so many decimals, the mean ± the standard deviation if the row
    has several runs; `+` asks for its sign.
    """
    missing = False

    def fill(match: re.Match[str]) -> str:
        nonlocal missing
        field, sign, digits = match.groups()
        values = find_values(same, field) or find_values(others, field)
        missing |= not values
        if digits is None or not values:
            return ", ".join(dict.fromkeys(map(str, values)))
        deviations = find_values(same, f"{field}_deviation")
        if len(values) > 1:
            deviations = [statistics.stdev(values)]
        text = f"{statistics.mean(values):{sign},.{digits}f}".replace("-", "−")
        return text + "".join(f" ± {each:.{digits}f}" for each in deviations)

    filled = FIELD.sub(fill, template).replace("|", "\\|")
    return "" if missing else filled


def find_values(runs: list[Run], field: str) -> list[Any]:
    """Collect a field of the runs, which is one of their scores or one of their own."""
    found = []
    for run in runs:
        value = run["scores"].get(field, run.get(field))
        found += value if isinstance(value, list) else [value]
    return [value for value in found if value is not None and value != ""]


if __name__ == "__main__":
    sys.exit(main())
