"""Large files, gzipped or not → blocks of whole lines, in little memory."""

import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, NamedTuple

from koala.errors import FileError

BLOCK_BYTES = 1 << 20
"""At most so many bytes a block: few enough for the processor's cache."""

LONGEST_LINE = 1 << 20
"""The official dump's longest line has some ten thousand bytes."""

_READ_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"


class Block(NamedTuple):
    """Whole lines, each with its line end."""

    data: bytes
    done: int
    """How many bytes of the file were read to get here."""


def read_blocks(path: Path) -> Iterator[Block]:
    """Give a file block by block, cut at line ends; `-` is stdin."""
    done, rest = 0, b""
    for subword, done in _read_subwords(path):
        end = subword.rfind(b"\n") + 1
        if end:
            yield Block(b"".join((rest, memoryview(subword)[:end])), done)
            rest = subword[end:]
        else:
            rest += subword
        if len(rest) > LONGEST_LINE:
            problem = f"more than {LONGEST_LINE:,} bytes without a line end: not a ConceptNet file."
            raise FileError(path, problem)
    if rest:
        yield Block(rest + b"\n", done)


def _read_subwords(path: Path) -> Iterator[tuple[bytes, int]]:
    """Give the bytes of a file, decompressed if it is gzipped, and how much of it was read."""
    try:
        with _open(path) as file:
            subword = file.read(_READ_BYTES)
            if subword.startswith(_GZIP):
                yield from _gunzip(path, subword, file)
                return
            done = 0
            while subword:
                done += len(subword)
                yield subword, done
                subword = file.read(BLOCK_BYTES)
    except FileNotFoundError:
        raise FileError(path, "no such file. Check the path.") from None
    except IsADirectoryError:
        raise FileError(path, "this is a folder, a file was expected.") from None
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror}).") from None


def _open(path: Path) -> "nullcontext[IO[bytes]] | IO[bytes]":
    return nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb")


def _gunzip(path: Path, waiting: bytes, file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Decompress one gzip member after another; zlib verifies length and checksum of each."""
    member = zlib.decompressobj(wbits=31)
    done = len(waiting)
    try:
        while waiting:
            # Bounded, since a small piece can hold very much.
            yield member.decompress(waiting, BLOCK_BYTES), done
            waiting = member.unconsumed_tail or member.unused_data
            if not waiting:
                waiting = file.read(_READ_BYTES)
                done += len(waiting)
            if member.eof and waiting:
                member = zlib.decompressobj(wbits=31)
    except zlib.error as error:
        raise FileError(path, f"damaged gzip file ({error}). Download it again.") from None
    if not member.eof:
        raise FileError(path, "the gzip file breaks off before its end. Download it again.")
