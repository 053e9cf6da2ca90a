"""Files and folders of procedures, read one record at a time: JSON lines, CSV, Parquet, datasets.

Every reader gives the line or row, the unparsed record, and the bytes read so far.
"""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from koala.errors import FileError, needs_extra

Raw = tuple[int, bytes | dict[str, Any], int]

LONGEST = 1 << 22
"""Maximum length of a line in bytes, or of a CSV cell in characters; beyond, a record is bad."""

N_EXTRA = "\0extra"
"""Field of a CSV record that has more cells than the header: their number."""

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_source(path: Path) -> Iterator[Raw]:
    """Stream the records of a file, or of the folder of a saved dataset."""
    if path.is_dir():
        return _read_dataset(path)
    if path.suffix == ".parquet":
        return _read_table(path)
    if path.suffix in _SEPARATORS:
        return _read_cells(path, _SEPARATORS[path.suffix])
    return _read_lines(path)


def measure(paths: Sequence[Path]) -> int:
    """Give the total size of all inputs in bytes; refuse missing ones."""
    return sum(map(measure_source, paths))


def measure_source(path: Path) -> int:
    """Give the size of a file, or of the Arrow files of a saved dataset, in bytes."""
    if path.is_file():
        return path.stat().st_size
    if not path.is_dir():
        raise FileError(path, "no such file; a file of procedures was expected.")
    if (path / "dataset_dict.json").is_file():
        splits = json.loads((path / "dataset_dict.json").read_text("utf-8")).get("splits", [])
        known = ", ".join(str(path / str(name)) for name in splits)
        raise FileError(path, f"this is a dataset of several splits. Give one or more: {known}.")
    if not is_dataset(path):
        raise FileError(
            path,
            "this is a folder; a file of procedures was expected, or a dataset that "
            "Dataset.save_to_disk has saved.",
        )
    return sum(file.stat().st_size for file in path.glob("*.arrow"))


def is_dataset(path: Path) -> bool:
    """Tell whether a folder is a dataset as Hugging Face `datasets` saves it."""
    return (path / "state.json").is_file() and (path / "dataset_info.json").is_file()


def _read_dataset(path: Path) -> Iterator[Raw]:
    with needs_extra("datasets", "A saved dataset"):
        import datasets
    try:
        rows = datasets.load_from_disk(str(path))
    except Exception as error:
        raise FileError(path, f"this dataset cannot be read ({error}).") from None
    size = measure_source(path)
    for number, row in enumerate(rows, 1):
        value = {key: field for key, field in row.items() if field is not None}
        yield number, value, size * number // len(rows)


def _read_cells(path: Path, separator: str) -> Iterator[Raw]:
    """Read a table whose first line names the columns; empty cells count as missing."""
    number = 1
    csv.field_size_limit(LONGEST)
    try:
        with path.open("rb") as source, io.TextIOWrapper(source, "utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter=separator, restkey=N_EXTRA)
            _check_columns(path, reader.fieldnames)
            for row in reader:
                number = reader.line_num
                yield number, _read_row(row), source.tell()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, f"cannot be read after line {number} ({error}).") from None


def _check_columns(path: Path, names: Sequence[str] | None) -> None:
    if not {"text", "steps"} & set(names or ()):
        found = ", ".join(names or ()) or "nothing"
        raise FileError(
            path, f"a column text or steps was expected in the first line, found {found}.", line=1
        )


def _read_row(row: dict[str, Any]) -> dict[str, Any]:
    if extra := row.get(N_EXTRA):
        return {N_EXTRA: len(extra)}
    value = {key: cell for key, cell in row.items() if cell is not None and cell.strip()}
    for key, separator in (("entities", "|"), ("steps", "\n")):
        if key in value:
            value[key] = _read_list(value[key], separator)
    return value


def _read_list(cell: str, separator: str) -> list[Any]:
    """Read a list: JSON, or parts between separators.

    >>> _read_list("water|plant; plants", "|"), _read_list('["water"]', "|")
    (['water', 'plant; plants'], ['water'])
    """
    try:
        value = json.loads(cell)
    except ValueError:
        value = None
    if isinstance(value, list):
        return value
    return [part.strip() for part in cell.split(separator) if part.strip()]


def _read_lines(path: Path) -> Iterator[tuple[int, bytes, int]]:
    number = 0
    try:
        for number, line, done in _split_lines(path):
            yield number, line, done
    except (OSError, EOFError, zlib.error) as error:
        problem = f"damaged after line {number}"
        if not number and isinstance(error, OSError):
            is_other = isinstance(error, gzip.BadGzipFile)
            problem = "not a gzip file" if is_other else "cannot be read"
        raise FileError(path, f"{problem} ({error}).") from None


def _split_lines(path: Path) -> Iterator[tuple[int, bytes, int]]:
    with path.open("rb") as source:
        file: IO[bytes] | gzip.GzipFile = source
        if path.suffix == ".gz":
            file = gzip.GzipFile(fileobj=source)
        number = 0
        while line := file.readline(LONGEST + 1):
            number += 1
            rest = line
            # The rest of a line that is too long is skipped in parts, never held in memory.
            while not rest.endswith(b"\n") and len(rest) > LONGEST:
                rest = file.readline(LONGEST + 1)
            yield number, line.rstrip(b"\r\n") if len(line) <= LONGEST else line, source.tell()


def _read_table(path: Path) -> Iterator[tuple[int, dict[str, Any], int]]:
    with needs_extra("parquet", "A Parquet file"):
        from pyarrow import ArrowException, parquet
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            n_rows, size = file.metadata.num_rows, path.stat().st_size
            for batch in file.iter_batches(batch_size=256):
                for row in batch.to_pylist():
                    number += 1
                    value = {key: field for key, field in row.items() if field is not None}
                    yield number, value, size * number // n_rows
    except (ArrowException, OSError) as error:
        # Damaged pages raise an OSError without an errno.
        problem = f"damaged after row {number}" if number else "not a Parquet file"
        raise FileError(path, f"{problem} ({error}).") from None
