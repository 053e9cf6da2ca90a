"""The store's file: sorted keys with their lines, compressed block by block, inside SQLite.

Keys are sorted and cut into blocks of some four kilobytes, each compressed by zlib: one small read
answers a question. Chosen by measuring, on 671,343 triples: 12 MB, and 0.3 ms to read the lines of
an entity, where plain SQLite tables with their indices take 57 MB and 0.7 ms, DuckDB 30 MB and
5 ms, LMDB 49 MB and 0.1 ms. So SQLite, which comes with Python, is enough, and the file can be
shipped as it is.
"""

import hashlib
import os
import sqlite3
import struct
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from koala.errors import FileError

APPLICATION = 0x6B6F616C
"""`koal`, where SQLite keeps a mark of the application that a file belongs to."""

FORMAT = 1
"""To be raised when files written before can no longer be read."""

BLOCK_CHARACTERS = 1 << 12
PART_CHARACTERS = 1 << 18
"""A block is closed when it holds so much; a longer group has blocks of its own."""

_PAGE_BYTES = 1 << 15
_HEADER = struct.Struct(">16s H 10x I 28x I 4x I")
"""Of SQLite's first 72 bytes: magic, bytes a page, pages, user version, application."""


def create(path: Path) -> sqlite3.Connection:
    """Create an empty file; it is not to be read before `seal`."""
    connection = sqlite3.connect(path, isolation_level=None)
    # No journal: a file that was not finished is thrown away.
    connection.executescript(
        f"""
        PRAGMA page_size = {_PAGE_BYTES};
        PRAGMA auto_vacuum = NONE;
        PRAGMA journal_mode = OFF;
        PRAGMA synchronous = OFF;
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA application_id = {APPLICATION};
        PRAGMA user_version = {FORMAT};
        BEGIN;
        CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
        """
    )
    return connection


def seal(connection: sqlite3.Connection, path: Path, facts: dict[str, str]) -> None:
    """Write the facts about the whole, close the file and bring it to the disk."""
    connection.executemany("INSERT INTO facts VALUES (?, ?)", sorted(facts.items()))
    connection.execute("COMMIT")
    connection.close()
    with path.open("r+b") as file:
        # SQLite notes its own version in bytes 96–99; the same content shall be the same bytes.
        file.seek(96)
        file.write(bytes(4))
        file.flush()
        os.fsync(file.fileno())


def write_blocks(
    connection: sqlite3.Connection, table: str, entries: Iterable[tuple[str, str]]
) -> str:
    """Write (key, line) pairs, sorted by key, as a table; give the hash of all of them."""
    connection.execute(f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, first TEXT, data BLOB)")
    digest = hashlib.sha256()
    for first, texts in _pack(_group(entries)):
        raw = "\n\n".join(texts).encode()
        digest.update(raw + b"\n\n")
        statement = f"INSERT INTO {table} (first, data) VALUES (?, ?)"
        connection.execute(statement, (first, zlib.compress(raw)))
    connection.execute(f"CREATE INDEX {table}_first ON {table} (first)")
    return digest.hexdigest()


class _Group(NamedTuple):
    key: str
    text: str
    is_part: bool


def _group(entries: Iterable[tuple[str, str]]) -> Iterator[_Group]:
    """Put the lines of a key under it; a group too long for the memory comes in parts."""
    for key, pairs in groupby(entries, key=itemgetter(0)):
        lines, n_characters, is_part = [key], 0, False
        for _, line in pairs:
            if n_characters > PART_CHARACTERS:
                yield _Group(key, "\n".join(lines), True)
                lines, n_characters, is_part = [key], 0, True
            lines.append(line)
            n_characters += len(line)
        yield _Group(key, "\n".join(lines), is_part)


def _pack(groups: Iterable[_Group]) -> Iterator[tuple[str, list[str]]]:
    """Put groups into blocks, parts into blocks of their own; give the first key with each."""
    texts: list[str] = []
    first, n_characters = "", 0
    for group in groups:
        if texts and (group.is_part or n_characters > BLOCK_CHARACTERS):
            yield first, texts
            texts, n_characters = [], 0
        if group.is_part:
            yield group.key, [group.text]
            continue
        first = first if texts else group.key
        texts.append(group.text)
        n_characters += len(group.text)
    if texts:
        yield first, texts


class BlockFile:
    """Reads a sealed file, from any thread and any forked process; nothing is loaded ahead."""

    def __init__(self, path: Path) -> None:
        _check(path)
        self.path = path
        self._channel = _Channel(path)

    def read_facts(self) -> dict[str, str]:
        """Read the facts about the whole."""
        return dict(self._ask("SELECT name, value FROM facts"))

    def find(self, table: str, key: str) -> list[str]:
        """Give the lines of a key, none where it is not there."""
        query = (
            f"SELECT data FROM {table} WHERE first = "
            f"(SELECT max(first) FROM {table} WHERE first <= ?) ORDER BY number"
        )
        lines: list[str] = []
        for (data,) in self._ask(query, key):
            lines += _find_group(self._unpack(data), key)
        return lines

    def read_groups(self, table: str) -> Iterator[tuple[str, list[str]]]:
        """Give every key with its lines, in order; a very long group comes in parts."""
        ((n_blocks,),) = self._ask(f"SELECT count(*) FROM {table}")
        for number in range(1, n_blocks + 1):
            ((data,),) = self._ask(f"SELECT data FROM {table} WHERE number = ?", number)
            for group in self._unpack(data).split("\n\n"):
                key, *lines = group.split("\n")
                yield key, lines

    def close(self) -> None:
        """Close the file."""
        self._channel.close()

    def _ask(self, query: str, *values: str | int) -> list[Any]:
        if self._channel.pid != os.getpid():
            # SQLite forbids using a connection across a fork, and even closing it.
            _INHERITED.append(self._channel)
            self._channel = _Channel(self.path)
        try:
            return self._channel.ask(query, values)
        except sqlite3.Error as error:
            raise FileError(self.path, f"the store is damaged ({error}).") from None

    def _unpack(self, data: bytes) -> str:
        try:
            return zlib.decompress(data).decode()
        except (zlib.error, UnicodeDecodeError) as error:
            raise FileError(self.path, f"the store is damaged ({error}).") from None


class _Channel:
    """A connection that threads take turns with, of one process."""

    def __init__(self, path: Path) -> None:
        self.pid = os.getpid()
        self._turn = threading.Lock()
        # Immutable: a store is replaced as a whole, never changed, so no locks are needed.
        uri = f"{path.resolve().as_uri()}?immutable=1"
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        weakref.finalize(self, _close, self._connection, self.pid)

    def ask(self, query: str, values: tuple[str | int, ...]) -> list[Any]:
        with self._turn:
            return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        with self._turn:
            self._connection.close()


def _close(connection: sqlite3.Connection, pid: int) -> None:
    if pid == os.getpid():
        connection.close()


_INHERITED: list[_Channel] = []


def _find_group(text: str, key: str) -> list[str]:
    mark = f"\n\n{key}\n"
    start = -2 if text.startswith(mark[2:]) else text.find(mark)
    if start == -1:
        return []
    start += len(mark)
    end = text.find("\n\n", start)
    return text[start : end if end >= 0 else None].split("\n")


def _check(path: Path) -> None:
    """Refuse what is no store, is of another format or was cut off."""
    advice = "Build one with: koala knowledge build SOURCE -o STORE"
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise FileError(path, f"no such store. {advice}") from None
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror}).") from None
    if len(header) < _HEADER.size or not header.startswith(b"SQLite format 3\0"):
        raise FileError(path, f"this is not a knowledge store. {advice}")
    _, page_bytes, n_pages, version, application = _HEADER.unpack(header)
    if application != APPLICATION:
        raise FileError(path, f"this is a database, but not a knowledge store. {advice}")
    if version != FORMAT:
        problem = f"a store of format {version}; this koala reads format {FORMAT}. {advice}"
        raise FileError(path, problem)
    if size != page_bytes * n_pages:
        problem = f"the store has {size:,} bytes, {page_bytes * n_pages:,} were expected. {advice}"
        raise FileError(path, problem)
