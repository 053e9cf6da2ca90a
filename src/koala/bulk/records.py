"""Files of procedures → records, streamed; a bad record does not stop the others."""

import gzip
import itertools
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
"""Maximum length of a line in bytes; a longer line is a bad record."""

_FIELDS = ("id", "text", "steps", "entities", "question", "prompt")
"""Fields that are read; null counts as missing. Earlier versions called the question "prompt"."""

_OPTIONS = {
    "model": "Choose the model of all records with --model.",
    "find": "Entities are found only for records that name none.",
    "fixed": "Use `koala track --fix` or the server to fix cells.",
    "explain": "Use `koala track --explain` or the server for reasons.",
}
"""Fields that the server accepts and koala batch refuses, with the advice to give."""

_N_QUOTED = 200
"""Bytes of a bad record that its report quotes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum size of a record."""

    steps: int = 1000
    entities: int = 100
    characters: int = 200_000


@dataclass(frozen=True, slots=True)
class Record:
    """An unparsed record: a line of a file, or a row of a table."""

    file: str
    line: int
    raw: bytes | dict[str, Any]
    end: int
    """Bytes of all files up to the end of this record, for the progress bar."""
    number: int
    """Number of this record over all files, starting at 1."""


@dataclass(frozen=True, slots=True)
class Task:
    """A record that can be tracked."""

    procedure: Procedure
    rest: dict[str, Any]
    """Fields that koala does not read; they are copied to the output."""
    content: str | Sequence[str]
    """The text or the steps as given; the model is chosen by them."""


def read_records(paths: Sequence[Path], *, start: int = 0) -> Iterator[Record]:
    """Stream the records of all files in order, without the first `start`."""
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
    """Give the total size of all files in bytes; refuse missing ones."""
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
            # The rest of a line that is too long is skipped in parts, never held in memory.
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
        # Damaged pages raise an OSError without an errno.
        problem = f"damaged after row {number}" if number else "not a Parquet file"
        raise FileError(path, f"{problem} ({error}).") from None


def parse_record(record: Record, limits: Limits) -> Task:
    """Parse a record; raise KoalaError if it cannot be tracked."""
    return build_task(open_record(record, limits), record.number, limits)


def open_record(record: Record, limits: Limits) -> dict[str, Any]:
    """Give the fields of a record; refuse one that is no object or too large."""
    value = _parse(record.raw) if isinstance(record.raw, bytes) else _to_json(record.raw)
    if not isinstance(value, dict):
        raise KoalaError(f"The record is a {type(value).__name__}; a JSON object was expected.")
    _check_size(value, limits)
    return value


def build_task(value: dict[str, Any], number: int, limits: Limits) -> Task:
    """Read the fields of a record as the server does; the default id is the record's number."""
    fields = _read_fields(value)
    content = fields["text"] if "text" in fields else fields.get("steps", ())
    steps = build_steps(given) if _is_steps(given := fields.get("steps")) else None
    if steps is not None:
        fields["steps"] = [step.text for step in steps]
    procedure = read_example(fields, number).procedure
    if steps is not None:
        # With their offsets in the steps as they were given.
        procedure = replace(procedure, steps=steps)
    if len(procedure.steps) > limits.steps:
        raise KoalaError(_describe_excess(len(procedure.steps), "steps", limits.steps))
    known = {"id", "text", "steps", "entities", "signature", "step_spans", *_OPTIONS}
    rest = {key: field for key, field in value.items() if key not in known}
    return Task(procedure, rest, content)


def _read_fields(value: dict[str, Any]) -> dict[str, Any]:
    """Give the fields that are read; refuse options of the server, which would have no effect."""
    for name, hint in _OPTIONS.items():
        if value.get(name) is not None:
            raise KoalaError(f'koala batch does not accept "{name}" in a record. {hint}')
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


def _to_json(row: dict[str, Any]) -> Any:  # noqa: ANN401
    """Convert a row of a table to JSON values: dates, times and decimals become strings."""

    def convert(field: object) -> str:
        if isinstance(field, date | time):
            return field.isoformat()
        if isinstance(field, Decimal):
            return str(field)
        raise KoalaError(f"A field holds {type(field).__name__}, which JSON cannot represent.")

    return json.loads(json.dumps(row, default=convert))


def _check_size(value: dict[str, Any], limits: Limits) -> None:
    text, steps = value.get("text"), value.get("steps")
    parts = [text] if isinstance(text, str) else steps if isinstance(steps, list) else []
    size = sum(len(part) for part in parts if isinstance(part, str))
    if size > limits.characters:
        raise KoalaError(_describe_excess(size, "characters", limits.characters))
    entities = value.get("entities")
    if isinstance(entities, list) and len(entities) > limits.entities:
        raise KoalaError(_describe_excess(len(entities), "entities", limits.entities))


def _describe_excess(number: int, what: str, most: int) -> str:
    return f"The record has {number:,} {what}; at most {most:,} are allowed."


def report_bad(record: Record, problem: str) -> str:
    """Give the report of a bad record as a line of JSON."""
    raw = record.raw if isinstance(record.raw, bytes) else repr(record.raw).encode()
    quoted = raw[:_N_QUOTED].decode("utf-8", errors="replace")
    value = {"file": record.file, "line": record.line, "reason": problem, "record": quoted}
    return json.dumps(value, ensure_ascii=False) + "\n"
