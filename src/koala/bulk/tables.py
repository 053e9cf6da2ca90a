"""The output of a run as a table: CSV, Parquet or a dataset, made from its JSON lines at the end.

While a run is under way, its grids are JSON lines, whatever the format of the output is. So every
format can be resumed, and the table is written by one process in one go.
"""

import csv
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from koala.bulk.sources import is_dataset
from koala.errors import FileError, needs_extra

_CELLS = (
    "id",
    "step",
    "text",
    "entity",
    "action",
    "before",
    "after",
    "confidence",
    "location_start",
    "location_end",
    "signature",
)
"""Columns of a CSV table; the other fields of the records follow."""

_GRID = ("id", "steps", "step_spans", "entities", "signature", "warnings")
"""Fields of a grid; all others are those of the user's record."""

_BATCH = 256


def find_format(output: Path) -> str:
    """Give the format of an output by its suffix: csv, parquet, dataset, or jsonl."""
    suffix = output.suffix.lower().removeprefix(".")
    return suffix if suffix in _WRITERS else "jsonl"


def check_format(output: Path) -> None:
    """Raise an error at once if the library for a format is not installed."""
    match find_format(output):
        case "parquet":
            with needs_extra("parquet", "A Parquet file"):
                import pyarrow.parquet  # noqa: F401
        case "dataset":
            with needs_extra("datasets", "A saved dataset"):
                import datasets  # noqa: F401


def check_replaceable(output: Path) -> None:
    """Refuse to replace a folder, unless both it and the output are saved datasets."""
    if output.is_dir() and not (find_format(output) == "dataset" and is_dataset(output)):
        raise FileError(output, "this is a folder, a file was expected.")


def publish(lines: Path, output: Path) -> None:
    """Turn the JSON lines of a finished run into its output; the lines are gone afterwards."""
    format = find_format(output)
    if format == "jsonl":
        lines.replace(output)
        return
    with tempfile.TemporaryDirectory(prefix=f"{output.name}.", dir=output.parent) as folder:
        made = Path(folder) / output.name
        _WRITERS[format](lines, made)
        if output.is_dir():
            shutil.rmtree(output)
        made.replace(output)
    lines.unlink()


def _read(lines: Path) -> Iterator[dict[str, Any]]:
    with lines.open("rb") as file:
        yield from map(json.loads, file)


def _write_csv(lines: Path, output: Path) -> None:
    """Write one line for every entity and step; a procedure without entities has one line."""
    names = list(_find_types(lines))
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, (*_CELLS, *names), lineterminator="\n")
        writer.writeheader()
        for grid in _read(lines):
            rest = {name: _write_cell(grid.get(name)) for name in names}
            for cells in _list_cells(grid):
                writer.writerow({**rest, **cells})


def _list_cells(grid: dict[str, Any]) -> Iterator[dict[str, Any]]:
    own = {"id": grid["id"], "signature": grid.get("signature")}
    if not grid["entities"]:
        yield own
    for entity in grid["entities"]:
        for cell in entity["steps"]:
            span = cell.get("location_span") or {}
            yield {
                **own,
                "entity": entity["name"],
                "text": grid["steps"][cell["step"] - 1],
                "location_start": span.get("start"),
                "location_end": span.get("end"),
                **{key: cell.get(key) for key in ("step", "action", "before", "after")},
                "confidence": cell.get("confidence"),
            }


def _write_cell(value: object) -> object:
    is_plain = value is None or isinstance(value, str | int | float)
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _write_parquet(lines: Path, output: Path) -> None:
    """Write one row for every procedure, in the shape of the JSON lines."""
    import pyarrow as pa
    from pyarrow import parquet

    types = _find_types(lines)
    schema = _build_schema(types)
    with parquet.ParquetWriter(output, schema) as writer:
        batch: list[dict[str, Any]] = []
        for grid in _read(lines):
            as_json = {n for n, kind in types.items() if kind is None and grid.get(n) is not None}
            batch.append(grid | {n: json.dumps(grid[n], ensure_ascii=False) for n in as_json})
            if len(batch) == _BATCH:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch.clear()
        writer.write_table(pa.Table.from_pylist(batch, schema))


def _write_dataset(lines: Path, output: Path) -> None:
    """Save a dataset for `datasets.load_from_disk`, with the rows of the Parquet table."""
    import datasets

    table, cache = output.with_name("table.parquet"), output.with_name("cache")
    _write_parquet(lines, table)
    datasets.disable_progress_bars()
    try:
        datasets.Dataset.from_parquet(str(table), cache_dir=str(cache)).save_to_disk(str(output))
    finally:
        datasets.enable_progress_bars()


def _find_types(lines: Path) -> dict[str, type | None]:
    """Give the fields of the users' records and the type that all values share, or None."""
    found: dict[str, set[type]] = {}
    for grid in _read(lines):
        for name, value in grid.items():
            if name not in _GRID and name not in _CELLS and value is not None:
                found.setdefault(name, set()).add(_type_of(value))
    return {name: _join_types(types) for name, types in found.items()}


def _type_of(value: object) -> type:
    is_large = type(value) is int and not -(1 << 63) <= value < 1 << 63
    return object if is_large else type(value)


def _join_types(types: set[type]) -> type | None:
    if types == {int, float}:
        return float
    (first, *others) = types
    return first if not others and first in (str, int, float, bool) else None


def _build_schema(types: dict[str, type | None]) -> Any:  # noqa: ANN401
    import pyarrow as pa

    text, whole, number = pa.string(), pa.int64(), pa.float64()
    span = pa.struct({"start": whole, "end": whole})
    mention = pa.struct({"step": whole, "start": whole, "end": whole})
    cell = pa.struct(
        {"step": whole, "action": text, "before": text, "after": text}
        | {"location_span": span, "confidence": number}
    )
    entity = pa.struct(
        {"name": text, "initial": text, "initial_span": span}
        | {"mentions": pa.list_(mention), "steps": pa.list_(cell)}
    )
    plain: dict[type | None, Any] = {str: text, int: whole, float: number, bool: pa.bool_()}
    plain[None] = text
    return pa.schema(
        {"id": text, "steps": pa.list_(text), "step_spans": pa.list_(span)}
        | {"entities": pa.list_(entity), "signature": text, "warnings": pa.list_(text)}
        | {name: plain[kind] for name, kind in types.items()}
    )


_WRITERS: dict[str, Callable[[Path, Path], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "dataset": _write_dataset,
}
