"""Tables of results in Markdown, written into pages between two marks.

A page holds a table between `<!-- table: NAME -->` and `<!-- end -->`. `tables.toml` beside the
pages has an entry for each NAME: which runs the table shows, and its columns. A new run is a new
JSON file in `runs/`.
"""

import re
import statistics
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from koala.errors import FileError, KoalaError
from koala.evaluation.report.runs import Run, choose_runs, find_values, group_rows, read_runs
from koala.evaluation.report.verdicts import write_verdicts
from koala.files import read_text, write_text

TABLES, RUNS = "tables.toml", "runs"
_MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FIELD = re.compile(r"\{([\w -]+)(?::(\+?)(\d))?\}")

Tables = dict[str, dict[str, Any]]


def read_tables(folder: Path) -> Tables:
    """Read the descriptions of all tables of a folder of results."""
    path = folder / TABLES
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FileError(path, f"not TOML: {error}.") from None


def rewrite_pages(
    folder: Path, *, only: Sequence[str] | None = None, check: bool = False
) -> list[Path]:
    """Write the tables of all pages of a folder, or of some, and give the pages that changed.

    With `check` nothing is written.
    """
    runs, tables = read_runs(folder / RUNS), read_tables(folder)
    _check_shown(tables, runs)
    changed = []
    for page in sorted(folder.rglob("*.md")):
        if only is not None and page.name not in only:
            continue
        old = read_text(page)
        new = _fill_page(page, old, tables, runs)
        if new != old:
            changed.append(page)
            if not check:
                write_text(page, new)
    return changed


def _check_shown(tables: Tables, runs: list[Run]) -> None:
    """Raise an error if a run is shown by no table: it would be forgotten."""
    shown = {group for table in tables.values() for group in table["groups"]}
    unused = sorted({run["group"] for run in runs} - shown)
    if unused:
        raise KoalaError(f"No table shows the group {', '.join(unused)}. Add it to {TABLES}.")


def _fill_page(page: Path, text: str, tables: Tables, runs: list[Run]) -> str:
    def fill(match: re.Match[str]) -> str:
        start, name, end = match.groups()
        if name not in tables:
            raise FileError(page, f"the table {name} is not in {TABLES}.")
        return start + write_table(tables[name], runs) + end

    return _MARKED.sub(fill, text)


def write_table(table: dict[str, Any], runs: list[Run]) -> str:
    """Write a table as Markdown, or what it asks for instead of one.

    `columns`: pairs of a heading and a template of the cell. `transpose`: runs become columns.
    `join`: groups whose fields a cell may take from runs of the same model. `commands`: the
    commands of the runs as a block of code. `claims`: verdicts (`report.verdicts`). `figures`:
    pictures (`report.figures`).
    """
    chosen = choose_runs(table, runs)
    if not chosen:
        return "*No run yet.*\n"
    if table.get("commands"):
        lines = dict.fromkeys(line for run in chosen for line in run["command"])
        return "```console\n" + "".join(f"$ {line}\n" for line in lines) + "```\n"
    if "claims" in table:
        return write_verdicts(table, chosen)
    if "figures" in table:
        return "".join(f"![{each['caption']}]({each['file']})\n" for each in table["figures"])
    cells = [[heading for heading, _ in table["columns"]]]
    for same in group_rows(table, runs):
        joined = [run for run in runs if run["group"] in table.get("join", ())]
        others = [run for run in joined if run["model"] == same[0]["model"]]
        cells.append([write_cell(template, same, others) for _, template in table["columns"]])
    if table.get("transpose"):
        cells = [list(row) for row in zip(*cells, strict=True)]
    return write_rows(cells)


def write_rows(cells: Sequence[Sequence[str]]) -> str:
    """Write rows of cells as a Markdown table; the first row is the head."""
    rows = [cells[0], ["---"] * len(cells[0]), *cells[1:]]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


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

    filled = _FIELD.sub(fill, template).replace("|", "\\|")
    return "" if missing else filled
