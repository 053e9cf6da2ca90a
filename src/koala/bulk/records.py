"""Files of procedures → records, streamed; a bad record does not stop the others."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeGuard

from koala.bulk.sources import LONGEST, N_EXTRA, measure_source, read_source
from koala.corpora.jsonl import read_example
from koala.document import Procedure
from koala.document.build import build_steps
from koala.errors import KoalaError
from koala.files import parse_json

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
        for line, raw, done in read_source(path):
            yield Record(path.name, line, raw, before + done, next(numbers))
        before += measure_source(path)


def parse_record(record: Record, limits: Limits) -> Task:
    """Parse a record; raise KoalaError if it cannot be tracked."""
    return build_task(open_record(record, limits), record.number, limits)


def open_record(record: Record, limits: Limits) -> dict[str, Any]:
    """Give the fields of a record; refuse one that is no object or too large."""
    value = _parse(record.raw) if isinstance(record.raw, bytes) else _to_json(record.raw)
    if not isinstance(value, dict):
        raise KoalaError(f"The record is a {type(value).__name__}; a JSON object was expected.")
    if N_EXTRA in value:
        raise KoalaError(
            f"The line has {value[N_EXTRA]} more cells than the header. Put cells that contain "
            "the separator in quotation marks."
        )
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
