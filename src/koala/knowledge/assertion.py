"""Assertion: an edge of ConceptNet as a file gives it, and what files of all kinds share."""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from koala.knowledge.triple import RELATIONS

_BY_NAME = {name.lower(): name for name in RELATIONS}
_decode = json.JSONDecoder().raw_decode
_POS = {"n": "n", "v": "v", "a": "a", "s": "a", "r": "r"}  # s is WordNet's satellite adjective


class Part(NamedTuple):
    """What was read of a piece of a file."""

    assertions: "Iterator[Assertion]"
    n_lines: int
    done: int
    """How many bytes of the file were read to get here."""


class Assertion(NamedTuple):
    """An English edge of one of the paper's relations, its weight not yet adjusted."""

    head: str
    relation: str
    tail: str
    weight: float
    is_estimate: bool
    head_pos: str | None
    tail_pos: str | None


def parse_concept(name: str) -> tuple[str, str | None] | None:
    """Read a plain name or a URI: text and part of speech; None is another language, or no text.

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
    """Find one of the paper's relations by its name or URI; None is another relation.

    >>> find_relation("/r/IsA"), find_relation("isa"), find_relation("dbpedia/genre")
    ('IsA', 'IsA', None)
    """
    return _BY_NAME.get(name.removeprefix("/r/").lower())


def parse_weight(value: object) -> float:
    """Read a weight, a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"the weight is {value!r}, a number was expected")
    return float(value)


def parse_json(text: str) -> Any:  # noqa: ANN401
    """Read one JSON value; less than half the time of json.loads for values of a line."""
    value, end = _decode(text)
    if text[end:].strip():
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def describe(error: Exception) -> str:
    """Say in a few words why a line could not be read."""
    match error:
        case json.JSONDecodeError():
            return f"not JSON ({error.msg}, column {error.colno})"
        case KeyError():
            return f"no {error.args[0]!r}"
        case UnicodeError():
            return "not UTF-8"
        case ValueError():
            return str(error)
    return "a value of the wrong kind"


def shorten(line: str | bytes, width: int = 60) -> str:
    """Quote the beginning of a line."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    return repr(text if len(text) <= width else text[: width - 1] + "…")
