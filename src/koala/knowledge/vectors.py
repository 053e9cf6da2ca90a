"""Vectors of neighbour concepts in their triples, cached on disk."""

import hashlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koala.encoders import Encoder
from koala.errors import FileError
from koala.files import find_cache
from koala.knowledge.triple import Triple

Vector = NDArray[np.float32]
Neighbour = tuple[Triple, str]
"""A triple and the side of the neighbour: head or tail."""

_ENCODER_BATCH = 2048
_QUERY_BATCH = 500


class NeighbourVectors:
    """Gives each neighbour concept the mean of its words' vectors in the triple's sentence.

    Vectors are cached in float16 and rounded to it before first use, so that cached and fresh
    vectors are equal.
    """

    def __init__(self, encoder: Encoder, folder: Path | None = None) -> None:
        self._encoder = encoder
        self._folder = folder or find_cache()
        self._path = self._folder / f"neighbours-{encoder.name}.sqlite"

    def get(
        self,
        neighbours: Sequence[Neighbour],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[Neighbour, Vector]:
        """Return the vector of each neighbour; vectors not in the cache are encoded and added."""
        keys = {_key(neighbour): neighbour for neighbour in neighbours}
        with self._connect() as connection:
            found = self._read(connection, list(keys))
            missing = [key for key in keys if key not in found]
            for start in range(0, len(missing), _ENCODER_BATCH):
                part = missing[start : start + _ENCODER_BATCH]
                new = dict(zip(part, self._encode([keys[key] for key in part]), strict=True))
                self._write(connection, new)
                found |= new
                if progress:
                    progress(start + len(part), len(missing))
        return {keys[key]: vector.astype(np.float32) for key, vector in found.items()}

    def _connect(self) -> sqlite3.Connection:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=60)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) "
                "WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            problem = f"the cache cannot be used ({error}). Set KOALA_CACHE to another folder."
            raise FileError(self._path, problem) from None
        return connection

    def _read(
        self, connection: sqlite3.Connection, keys: Sequence[bytes]
    ) -> dict[bytes, NDArray[np.float16]]:
        found = {}
        for start in range(0, len(keys), _QUERY_BATCH):
            part = keys[start : start + _QUERY_BATCH]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
            for key, raw in connection.execute(query, part):
                found[key] = np.frombuffer(raw, dtype=np.float16)
        return found

    def _write(
        self, connection: sqlite3.Connection, vectors: Mapping[bytes, NDArray[np.float16]]
    ) -> None:
        rows = [(key, vector.tobytes()) for key, vector in vectors.items()]
        with connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _encode(self, neighbours: Sequence[Neighbour]) -> list[NDArray[np.float16]]:
        sentences = [triple.sentence.split() for triple, _ in neighbours]
        encoded = self._encoder.encode(sentences)
        means = []
        for (triple, side), words, vectors in zip(neighbours, sentences, encoded, strict=True):
            start, end = find_concept(words, triple, side)
            means.append(vectors[start:end].mean(axis=0).astype(np.float16))
        return means


def find_concept(words: Sequence[str], triple: Triple, side: str) -> tuple[int, int]:
    """Return the span of a concept in its triple's sentence; the whole sentence if not found.

    Of several matches, the first is the head and the last is the tail.
    """
    concept = (triple.head if side == "head" else triple.tail).split()
    starts = range(len(words) - len(concept) + 1)
    for start in starts if side == "head" else reversed(starts):
        if list(words[start : start + len(concept)]) == concept:
            return start, start + len(concept)
    return 0, len(words)


def _key(neighbour: Neighbour) -> bytes:
    triple, side = neighbour
    # Including the sentence, because a later version may phrase a relation differently.
    text = "\t".join((triple.head, triple.relation, triple.tail, side, triple.sentence))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
