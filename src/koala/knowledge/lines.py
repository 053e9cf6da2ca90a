"""Large files, gzipped or not → blocks of whole lines, in little memory."""

import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, NamedTuple

from koala.errors import FileError
from koala.files import explain_read_errors

BLOCK_BYTES = 1 << 20
"""Maximum bytes of a block: few enough for the processor's cache."""

LONGEST_LINE = 1 << 20
"""Maximum bytes of a line; the official dump's longest line has about ten thousand."""

_READ_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"


class Block(NamedTuple):
    """Whole lines, each with its line end."""

    data: bytes
    done: int
    """Bytes of the file read so far."""


def read_blocks(path: Path) -> Iterator[Block]:
    """Read a file in blocks that end at line ends; `-` is stdin."""
    done, rest = 0, b""
    for chunk, done in _read_chunks(path):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield Block(b"".join((rest, memoryview(chunk)[:end])), done)
            rest = chunk[end:]
        else:
            rest += chunk
        if len(rest) > LONGEST_LINE:
            problem = f"more than {LONGEST_LINE:,} bytes without a line end: not a ConceptNet file."
            raise FileError(path, problem)
    if rest:
        yield Block(rest + b"\n", done)


def _read_chunks(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield the bytes of a file, decompressed if gzipped, and how many bytes were read so far."""
    with explain_read_errors(path), _open(path) as file:
        chunk = file.read(_READ_BYTES)
        if chunk.startswith(_GZIP):
            yield from _gunzip(path, chunk, file)
            return
        done = 0
        while chunk:
            done += len(chunk)
            yield chunk, done
            chunk = file.read(BLOCK_BYTES)


def _open(path: Path) -> "nullcontext[IO[bytes]] | IO[bytes]":
    return nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb")


def _gunzip(path: Path, pending: bytes, file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Decompress one gzip member after another; zlib verifies length and checksum of each."""
    member = zlib.decompressobj(wbits=31)
    done = len(pending)
    try:
        while pending:
            # Bounded, because a few compressed bytes can expand to very many.
            yield member.decompress(pending, BLOCK_BYTES), done
            pending = member.unconsumed_tail or member.unused_data
            if not pending:
                pending = file.read(_READ_BYTES)
                done += len(pending)
            if member.eof and pending:
                member = zlib.decompressobj(wbits=31)
    except zlib.error as error:
        raise FileError(path, f"damaged gzip file ({error}). Download it again.") from None
    if not member.eof:
        raise FileError(path, "truncated gzip file. Download it again.")
