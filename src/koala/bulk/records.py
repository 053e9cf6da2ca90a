"""Files of procedures → records, one after the other, in little memory; bad ones are no end."""

import gzip
import itertools
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, TypeGuard

from koala.corpora.jsonl import read_example
from koala.document import Procedure
from koala.document.build import build_steps
from koala.errors import FileError, KoalaError
from koala.files import parse_json

LONGEST = 1 << 22
"""Bytes of a line at most; a longer one is a bad record."""

_FIELDS = ("id", "text", "steps", "entities", "question", "prompt")
"""Fields that are read; null counts as missing. Earlier versions called the question prompt."""

_OPTIONS = {
    "model": "Choose the model of all records with --model.",
    "find": "Entities are found where none are named.",
    "explain": "Reasons are given by `koala track --explain` and by the server.",
}
"""What the server takes with a procedure, and koala batch does not."""

_SHOWN = 200
"""Characters of a bad record that its report quotes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a record may hold at most."""

    steps: int = 1000
    entities: int = 100
    characters: int = 200_000


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it came: a line of a file, or a row of a table."""

    file: str
    line: int
    raw: bytes | dict[str, Any]
    end: int
    """Bytes of all files up to the end of this record, for a progress bar."""
    number: int
    """Its number among those of all files, from 1 on."""


@dataclass(frozen=True, slots=True)
class Task:
    """A record that can be tracked."""

    procedure: Procedure
    rest: dict[str, Any]
    """Fields that are none of ours; they are kept."""
    content: str | Sequence[str]
    """The text or the steps as they came: what a model is chosen by."""


def read_records(paths: Sequence[Path], *, start: int = 0) -> Iterator[Record]:
    """Stream the records of all files in order, those from number `start` on."""
    return itertools.islice(_chain(paths), start, None)


def _chain(paths: Sequence[Path]) -> Iterator[Record]:
    before = 0
    numbers = itertools.count(1)
    for path in paths:
        reader = _read_table if path.suffix == ".parquet" else _read_lines
        for line, raw, done in reader(path):
            yield Record(path.name, line, raw, before + done, next(numbers))
        before += path.stat().st_size


def measure(paths: Sequence[Path]) -> int:
    """Count the bytes of all files."""
    total = 0
    for path in paths:
        if not path.is_file():
            problem = "this is a folder" if path.is_dir() else "no such file"
            raise FileError(path, f"{problem}; a file of procedures was expected.")
        total += path.stat().st_size
    return total


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
            # What is too long is passed over piece by piece, never held as a whole.
            while not rest.endswith(b"\n") and len(rest) > LONGEST:
                rest = file.readline(LONGEST + 1)
            yield number, line.rstrip(b"\r\n") if len(line) <= LONGEST else line, source.tell()


def _read_table(path: Path) -> Iterator[tuple[int, dict[str, Any], int]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise KoalaError(
            "Parquet files need pyarrow. Install koala with it: pip install 'koala[parquet]'"
        ) from None
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
        # Damaged pages are an OSError that has no number.
        problem = f"damaged after row {number}" if number else "not a Parquet file"
        raise FileError(path, f"{problem} ({error}).") from None


def parse_record(record: Record, limits: Limits) -> Task:
    """Read a record; whatever is wrong with it is a KoalaError."""
    return build_task(open_record(record, limits), record.number, limits)


def open_record(record: Record, limits: Limits) -> dict[str, Any]:
    """Give the fields of a record that is not too large."""
    value = _parse(record.raw) if isinstance(record.raw, bytes) else _write_plainly(record.raw)
    if not isinstance(value, dict):
        raise KoalaError(f"A JSON object was expected, {type(value).__name__} came.")
    _check_size(value, limits)
    return value


def build_task(value: dict[str, Any], number: int, limits: Limits) -> Task:
    """Read the fields of a record as the server does; without an id it is called by its number."""
    fields = _read_fields(value)
    content = fields["text"] if "text" in fields else fields.get("steps", ())
    if _is_steps(steps := fields.get("steps")):
        fields["steps"] = [step.text for step in build_steps(steps)]
    procedure = read_example(fields, number).procedure
    if len(procedure.steps) > limits.steps:
        raise KoalaError(f"{len(procedure.steps):,} steps came; at most {limits.steps:,} may.")
    known = {"id", "text", "steps", "entities", "signature", *_OPTIONS}
    rest = {key: field for key, field in value.items() if key not in known}
    return Task(procedure, rest, content)


def _read_fields(value: dict[str, Any]) -> dict[str, Any]:
    """Give the fields that are read; refuse what would be passed over."""
    for name, hint in _OPTIONS.items():
        if value.get(name) is not None:
            raise KoalaError(f'"{name}" in a record is not read by koala batch. {hint}')
    fields = {key: value[key] for key in _FIELDS if value.get(key) is not None}
    if "text" in fields and "steps" in fields:
        raise KoalaError('Give "text" (a string) or "steps" (a list of strings), not both.')
    if fields.get("id") == "":
        del fields["id"]
    return fields


def _is_steps(content: object) -> TypeGuard[list[str]]:
    return isinstance(content, list) and all(isinstance(step, str) for step in content)


def _parse(raw: bytes) -> Any:  # noqa: ANN401
    if len(raw) > LONGEST:
        raise KoalaError(f"The line is longer than {LONGEST:,} bytes.")
    if not raw.strip():
        raise KoalaError("The line is empty.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise KoalaError(f"Byte 0x{raw[error.start]:02x} is not UTF-8.") from None
    return parse_json(text)


def _write_plainly(row: dict[str, Any]) -> Any:  # noqa: ANN401
    """Give a row of a table as JSON can have it: times and decimal numbers are strings."""

    def plain(field: object) -> str:
        if isinstance(field, date | time):
            return field.isoformat()
        if isinstance(field, Decimal):
            return str(field)
        raise KoalaError(f"A field holds {type(field).__name__}, which JSON does not have.")

    return json.loads(json.dumps(row, default=plain))


def _check_size(value: dict[str, Any], limits: Limits) -> None:
    text, steps = value.get("text"), value.get("steps")
    parts = [text] if isinstance(text, str) else steps if isinstance(steps, list) else []
    size = sum(len(part) for part in parts if isinstance(part, str))
    if size > limits.characters:
        raise KoalaError(f"{size:,} characters came; at most {limits.characters:,} may.")
    entities = value.get("entities")
    if isinstance(entities, list) and len(entities) > limits.entities:
        raise KoalaError(f"{len(entities):,} entities came; at most {limits.entities:,} may.")


def report_bad(record: Record, problem: str) -> str:
    """Write what is wrong with a record as a line of JSON."""
    raw = record.raw if isinstance(record.raw, bytes) else repr(record.raw).encode()
    shown = raw[:_SHOWN].decode("utf-8", errors="replace")
    value = {"file": record.file, "line": record.line, "reason": problem, "record": shown}
    return json.dumps(value, ensure_ascii=False) + "\n"
