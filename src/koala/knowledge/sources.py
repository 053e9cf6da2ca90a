"""ConceptNet's files → assertions: the official dump, TSV and JSON lines, gzipped or not."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from koala.errors import FileError
from koala.files import shorten
from koala.knowledge.assertion import (
    Assertion,
    Part,
    describe,
    find_relation,
    parse_concept,
    parse_json,
    parse_weight,
)
from koala.knowledge.dump import MARK, read_dump
from koala.knowledge.lines import Block, read_blocks
from koala.knowledge.weights import estimate_weight

UNKNOWN_WEIGHT = 1.0
"""Estimated weight of an assertion about which nothing else is known."""

_BOM = b"\xef\xbb\xbf"
_INSPECTED_LINES = 1000
_COLUMNS = ("head", "relation", "tail", "weight")  # of a TSV without a header
_EXPECTED = (
    "ConceptNet's dump (tab-separated /a/[…], relation, start, end, JSON), a TSV "
    "(head, relation, tail) or JSON lines (rel, start, end)"
)

Reader = Callable[[Path, Iterable[Block]], Iterator[Part]]
LineReader = Callable[[str], Assertion | None]


def read_parts(path: Path, *, exclude: Collection[str] = ()) -> Iterator[Part]:
    """Read a file block by block; rows of a TSV all of whose sources are in `exclude` are left out.

    A damaged line raises an error, and so does a file of an unknown format.
    """
    blocks = read_blocks(path)
    first = next(blocks, None)
    if first is None:
        raise FileError(path, f"this file is empty, expected {_EXPECTED}.")
    first = first._replace(data=first.data.removeprefix(_BOM))
    read = _choose_reader(path, first, frozenset(exclude))
    return read(path, chain((first,), blocks))


def _choose_reader(path: Path, block: Block, exclude: frozenset[str]) -> Reader:
    """Detect the format of a file by its first lines."""
    lines = block.data.split(b"\n", _INSPECTED_LINES)[:_INSPECTED_LINES]
    lines = [line.strip(b"\r") for line in lines]
    header = [name.decode("utf-8", "replace").strip().lower() for name in lines[0].split(b"\t")]
    if {"head", "relation", "tail"} <= set(header):
        return _read_text(Table(header, exclude).parse, has_header=True)
    for line in lines:
        columns = line.split(b"\t")
        if line.startswith(MARK) and len(columns) == 5:
            return read_dump
        if line.startswith(b"{") and b'"rel"' in line:
            return _read_text(parse_object)
        if len(columns) >= 3 and find_relation(columns[1].decode("utf-8", "replace")):
            return _read_text(Table(_COLUMNS, exclude, n_needed=3).parse)
    found = next((line for line in lines if line.strip()), b"")
    problem = f"not a ConceptNet file: expected {_EXPECTED}, got {shorten(found)}."
    raise FileError(path, problem, line=1)


def _read_text(parse: LineReader, *, has_header: bool = False) -> Reader:
    """Turn a parser of lines into a reader of files."""

    def read(path: Path, blocks: Iterable[Block]) -> Iterator[Part]:
        line = 1
        for block in blocks:
            rows = block.data.split(b"\n")
            start = 1 if has_header and line == 1 else 0
            assertions = _parse_lines(path, parse, rows[start:], line + start)
            yield Part(assertions, len(rows) - 1, block.done)
            line += len(rows) - 1

    return read


def _parse_lines(
    path: Path, parse: LineReader, rows: Iterable[bytes], first: int
) -> Iterator[Assertion]:
    for number, row in enumerate(rows, first):
        try:
            text = row.decode().rstrip("\r")
            assertion = parse(text) if text.strip() else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FileError(path, f"{describe(error)}: {shorten(row)}", line=number) from None
        if assertion:
            yield assertion


def parse_object(line: str) -> Assertion | None:
    """Parse a JSON object with `rel`, `start`, `end` and optionally `weight`."""
    value = parse_json(line)
    if not isinstance(value, dict):
        raise ValueError("expected an object with rel, start and end")
    name = find_relation(value["rel"])
    head, tail = parse_concept(value["start"]), parse_concept(value["end"])
    weight = value.get("weight")
    is_estimate = weight is None
    weight = UNKNOWN_WEIGHT if is_estimate else parse_weight(weight)
    if not (name and head and tail):
        return None
    (head[0] + tail[0]).encode()  # fails on lone surrogates, which JSON can escape
    return Assertion(head[0], name, tail[0], weight, is_estimate, head[1], tail[1])


class Table:
    """Parses tab-separated rows by the names of their columns."""

    def __init__(
        self, header: Sequence[str], exclude: frozenset[str], *, n_needed: int | None = None
    ) -> None:
        self._header = header
        self._exclude = exclude
        self._n_needed = n_needed or len(header)

    def parse(self, line: str) -> Assertion | None:
        """Parse a row."""
        cells = line.split("\t")
        if len(cells) < self._n_needed:
            names = ", ".join(self._header[: self._n_needed])
            expected = f"{self._n_needed} tab-separated columns ({names})"
            raise ValueError(f"expected {expected}, got {len(cells)}")
        row = dict(zip(self._header, cells, strict=False))
        name = find_relation(row["relation"])
        if name is None or self._is_excluded(row):
            return None
        head, tail = parse_concept(row["head"]), parse_concept(row["tail"])
        weight, is_estimate = weigh(row)
        if not (head and tail):
            return None
        return Assertion(head[0], name, tail[0], weight, is_estimate, head[1], tail[1])

    def _is_excluded(self, row: dict[str, str]) -> bool:
        sources = row.get("sources", "")
        return bool(self._exclude and sources) and self._exclude.issuperset(sources.split("|"))


def weigh(row: dict[str, str]) -> tuple[float, bool]:
    """Return the weight of a row, and whether it is estimated: by the table itself, or from it.

    A weight comes from `real_cn5_weight` or `weight`; an estimate from `estimated_weight`, or else
    from `in_wordnet31` and `cn4_votes`.
    """
    given = row.get("real_cn5_weight") or row.get("weight")
    if given and given.strip():
        return _parse_number(given, "weight"), False
    estimated = row.get("estimated_weight")
    if estimated:
        return _parse_number(estimated, "estimated weight"), True
    in_wordnet, votes = row.get("in_wordnet31"), row.get("cn4_votes")
    if not in_wordnet and not votes:
        return UNKNOWN_WEIGHT, True
    n_votes = _parse_number(votes, "number of votes") if votes else 0.0
    relation = find_relation(row["relation"]) or ""
    return estimate_weight(relation, in_wordnet=in_wordnet == "1", n_votes=n_votes), True


def _parse_number(cell: str, what: str) -> float:
    try:
        return parse_weight(float(cell))
    except ValueError:
        raise ValueError(f"the {what} is {cell!r}, expected a finite number") from None
