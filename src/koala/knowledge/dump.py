"""The official dump, `conceptnet-assertions-5.7.0.csv.gz` → assertions.

A line has five tab-separated columns: `/a/[…]`, `/r/IsA`, `/c/en/start`, `/c/en/end/n`, and JSON
with the weight. Nine of ten lines are in other languages, so numpy selects the English ones.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

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
from koala.knowledge.lines import Block

MARK = b"/a/["
"""Prefix of every line."""

_ENGLISH = b"/c/en/"

_Line = tuple[int, bytes, bytes, bytes, bytes]
"""Line number, relation, start, end, JSON."""


def read_dump(path: Path, blocks: Iterable[Block]) -> Iterator[Part]:
    """Read the English assertions of the paper's relations."""
    line = 1
    for block in blocks:
        array = np.frombuffer(block.data, dtype=np.uint8)
        # Tabs and line ends; an intact dump has no other byte up to "\n".
        ends = np.flatnonzero(array <= ord("\n"))
        if _are_assertions(array, ends):
            columns = ends.reshape(-1, 5)  # (lines, columns): where each column ends
            n_lines = len(columns)
            lines = _find_english(block.data, array, columns, line)
        else:
            n_lines = block.data.count(b"\n")
            lines = _find_english_slowly(path, block.data, line)
        yield Part(_read_lines(path, lines), n_lines, block.done)
        line += n_lines
    _parse_concept.cache_clear()


def _read_lines(path: Path, lines: Iterable[_Line]) -> Iterator[Assertion]:
    for number, relation, start, end, data in lines:
        try:
            name = _find_relation(relation)
            if name is None:
                continue
            head, tail = _parse_concept(start), _parse_concept(end)
            weight = _parse_weight(data)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problem = f"{describe(error)}; expected JSON with a weight: {shorten(data)}"
            raise FileError(path, problem, line=number) from None
        if head and tail:
            yield Assertion(head[0], name, tail[0], weight, False, head[1], tail[1])


# The caches pay off because the dump is sorted, most concepts are in several lines, and most lines
# of a source have the same JSON.
@lru_cache(1 << 17)
def _parse_concept(uri: bytes) -> tuple[str, str | None] | None:
    return parse_concept(uri.decode())


@lru_cache(1 << 12)
def _parse_weight(data: bytes) -> float:
    return parse_weight(parse_json(data.decode())["weight"])


@lru_cache(1 << 10)
def _find_relation(uri: bytes) -> str | None:
    return find_relation(uri.decode())


def _find_english(
    data: bytes, array: NDArray[np.uint8], ends: NDArray[np.intp], line: int
) -> Iterator[_Line]:
    """Yield the lines whose start and end are both English."""
    rows = np.arange(len(ends))
    for column in (1, 2):
        for offset in (4, 5, 6, 1, 2, 3):  # the language first: it excludes the most lines
            found = array.take(ends[rows, column] + offset, mode="clip")
            rows = rows[found == _ENGLISH[offset - 1]]
    for row, (a, b, c, d, e) in zip((rows + line).tolist(), ends[rows].tolist(), strict=True):
        yield row, data[a + 1 : b], data[b + 1 : c], data[c + 1 : d], data[d + 1 : e]


def _are_assertions(array: NDArray[np.uint8], ends: NDArray[np.intp]) -> bool:
    """Return whether every line starts with MARK, has five columns and ends with a brace."""
    if len(ends) % 5:
        return False
    found = array[ends].reshape(-1, 5)
    if (found[:, :4] != ord("\t")).any() or (found[:, 4] != ord("\n")).any():
        return False
    line_ends = ends[4::5]
    starts = np.concatenate(([0], line_ends[:-1] + 1))
    has_mark = all((array[starts + n] == byte).all() for n, byte in enumerate(MARK))
    return has_mark and bool((array[line_ends - 1] == ord("}")).all())


def _find_english_slowly(path: Path, data: bytes, line: int) -> Iterator[_Line]:
    """Do the same line by line, to name the damaged line; blank lines are skipped."""
    for number, whole in enumerate(data.split(b"\n"), line):
        text = whole.rstrip(b"\r")
        if not text.strip():
            continue
        columns = text.split(b"\t")
        if len(columns) != 5 or not text.startswith(MARK) or not text.endswith(b"}"):
            expected = "five tab-separated columns (/a/[…], relation, start, end, {…})"
            found = "a damaged line" if len(columns) == 5 else str(len(columns))
            problem = f"expected {expected}, got {found}: {shorten(text)}"
            raise FileError(path, problem, line=number)
        _, relation, start, end, data_column = columns
        if start.startswith(_ENGLISH) and end.startswith(_ENGLISH):
            yield number, relation, start, end, data_column
