"""Assertion: an edge of ConceptNet as read from a file, and parsing shared by all file formats."""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from koala.knowledge.triple import RELATIONS

_BY_NAME = {name.lower(): name for name in RELATIONS}
_decode = json.JSONDecoder().raw_decode
_POS = {"n": "n", "v": "v", "a": "a", "s": "a", "r": "r"}  # s is WordNet's satellite adjective


class Part(NamedTuple):
    """The assertions of one block of a file."""

    assertions: "Iterator[Assertion]"
    n_lines: int
    done: int
    """Bytes of the file read so far."""


class Assertion(NamedTuple):
    """An English edge with one of the paper's relations, before re-weighting."""

    head: str
    relation: str
    tail: str
    weight: float
    is_estimate: bool
    head_pos: str | None
    tail_pos: str | None


def parse_concept(name: str) -> tuple[str, str | None] | None:
    """Parse a plain name or a URI into text and part of speech; None: not English, or empty.

    >>> parse_concept("/c/en/carbon_dioxide/n/wn/substance")
    ('carbon dioxide', 'n')
    >>> parse_concept("Carbon Dioxide")
    ('carbon dioxide', None)
    """
    pos = None
    if name.startswith("/c/"):
        _, _, language, name, sense, *_ = [*name.split("/"), "", ""]
        if language != "en":
            return None
        pos = _POS.get(sense)
    text = " ".join(name.replace("_", " ").lower().split())
    return (text, pos) if text else None


def find_relation(name: str) -> str | None:
    """Find one of the paper's relations by its name or URI; None: another relation.

    >>> find_relation("/r/IsA"), find_relation("isa"), find_relation("dbpedia/genre")
    ('IsA', 'IsA', None)
    """
    return _BY_NAME.get(name.removeprefix("/r/").lower())


def parse_weight(value: object) -> float:
    """Check that a weight is a finite number and return it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"the weight is {value!r}, expected a finite number")
    return float(value)


def parse_json(text: str) -> Any:  # noqa: ANN401
    """Parse one JSON value; for single lines more than twice as fast as json.loads."""
    value, end = _decode(text)
    if text[end:].strip():
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def describe(error: Exception) -> str:
    """Describe briefly why a line could not be parsed."""
    match error:
        case json.JSONDecodeError():
            return f"not JSON ({error.msg}, column {error.colno})"
        case KeyError():
            return f"{error.args[0]!r} is missing"
        case UnicodeError():
            return "not UTF-8"
        case ValueError():
            return str(error)
    return "a value has the wrong type"
