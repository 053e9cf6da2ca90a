"""Files of any size → a stream of paragraphs, in little memory."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple, cast

from koala.errors import FileError, KoalaError
from koala.files import is_folder, parse_json, shorten

LEAST_WORDS = 20
"""Shorter paragraphs are mostly headings, captions and stubs."""

LONGEST = 1 << 24
"""Maximum bytes of a line; the longest articles have a few million."""

_WRAP_WIDTH = 120
_INSPECTED_LINES = 200
_REPORT_EVERY = 1000
_COMPRESSIONS = (".gz", ".bz2", ".xz")
_DECOMPRESSORS: tuple[tuple[bytes, Callable[[IO[bytes]], object]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)

Progress = Callable[[int, int], None]
"""Gets the bytes read and the total; compressed files count with their compressed size."""


class Paragraph(NamedTuple):
    """A paragraph and the title of its article or book."""

    title: str
    text: str


class _Line(NamedTuple):
    number: int
    text: str


def read_paragraphs(
    paths: Sequence[str | Path],
    *,
    least_words: int = LEAST_WORDS,
    progress: Progress | None = None,
) -> Iterator[Paragraph]:
    """Stream the paragraphs of files and folders, in order, that have at least `least_words`.

    A file has one of these formats, plain or compressed with gzip, bzip2 or xz:

    - `.tsv`: title, tab, text, one paragraph per line;
    - `.jsonl`: one article per line with "title" and "text", as `wikiextractor --json` writes them;
    - plain text: one paragraph per line, or wrapped lines with blank lines between paragraphs.

    The format of files with other names is detected by their first line. In a folder, all files
    named `wiki_…`, `.tsv` and `.jsonl` at any depth are read, or, if there are none, `.txt`.
    """
    files = [file for path in paths for file in find_files(path)]
    total = sum(file.stat().st_size for file in files)
    done = 0
    for file in files:

        def report(position: int, before: int = done) -> None:
            if progress is not None:
                progress(before + position, total)

        for paragraph in _read_file(file, report):
            if paragraph.text and len(paragraph.text.split()) >= least_words:
                yield paragraph
        done += file.stat().st_size


def find_files(path: str | Path) -> list[Path]:
    """Return a file of paragraphs, or all such files of a folder, sorted by name."""
    path = Path(path)
    if not is_folder(path):
        # Paragraphs are first counted, then ranked, and a pipe cannot be read twice.
        if not _is_file(path):
            problem = "no such file. Give a file or folder of paragraphs, not a pipe."
            raise FileError(path, problem)
        return [path]
    everything = sorted(file for file in path.rglob("[!.]*") if file.is_file())
    files = [f for f in everything if f.name.startswith("wiki_") or _find_reader(f)]
    files = files or [f for f in everything if _strip_compression(f).suffix == ".txt"]
    if not files:
        problem = "no paragraphs in this folder, expected files wiki_…, .tsv, .jsonl or .txt."
        raise FileError(path, problem)
    return files


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that the system does not accept
        return False


def _read_file(path: Path, report: Callable[[int], None]) -> Iterator[Paragraph]:
    lines = _read_lines(path, report)
    first = next((line for line in lines if line.text.strip()), None)
    if first is None:
        raise FileError(path, "this file is empty.")
    read = _find_reader(path) or _guess_reader(path, first)
    yield from read(path, chain([first], lines))


def _read_lines(path: Path, report: Callable[[int], None]) -> Iterator[_Line]:
    number = 0
    try:
        with path.open("rb") as file:
            stream = _decompress(file)
            while raw := stream.readline(LONGEST):
                number += 1
                if number % _REPORT_EVERY == 0:
                    report(file.tell())
                yield _Line(number, _decode(raw, path, number))
            report(file.tell())
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise _damage(path, number, error) from None
    except OSError as error:
        # bzip2 and gzip report damage as an OSError without errno.
        if error.errno is None:
            raise _damage(path, number, error) from None
        raise FileError(path, f"cannot be read ({error.strerror}).") from None


def _decompress(file: io.BufferedReader) -> IO[bytes]:
    """Detect the compression by the first bytes, not by the file name."""
    start = file.peek(6)
    for magic, decompress in _DECOMPRESSORS:
        if start.startswith(magic):
            # Buffering makes reading lines several times faster.
            return io.BufferedReader(cast("io.RawIOBase", decompress(file)), 1 << 18)
    return file


def _decode(raw: bytes, path: Path, number: int) -> str:
    if len(raw) == LONGEST and not raw.endswith(b"\n"):
        problem = f"more than {LONGEST:,} bytes without a line end, expected paragraphs."
        raise FileError(path, problem, line=number)
    if b"\x00" in raw:
        raise FileError(path, "contains a NUL byte, expected UTF-8 text.", line=number)
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8. Convert the file to UTF-8."
        raise FileError(path, problem, line=number) from None


def _damage(path: Path, number: int, error: Exception) -> FileError:
    why = str(error).rstrip(".") or "truncated"
    return FileError(path, f"damaged after line {number} ({why}). Download or compress it again.")


_Reader = Callable[[Path, Iterable[_Line]], Iterator[Paragraph]]


def _strip_compression(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path


def _find_reader(path: Path) -> _Reader | None:
    """Return the reader for a file name; None: the name does not determine the format."""
    readers = {".tsv": _read_tsv, ".jsonl": _read_json, ".json": _read_json, ".ndjson": _read_json}
    return readers.get(_strip_compression(path).suffix.lower())


def _guess_reader(path: Path, first: _Line) -> _Reader:
    start = first.text.lstrip()
    if start.startswith(("<mediawiki", "<doc ", "<?xml")):
        problem = "this is XML, expected paragraphs. Extract them with `wikiextractor --json`."
        raise FileError(path, problem, line=first.number)
    if start.startswith("{"):
        return _read_json
    return _read_tsv if first.text.count("\t") == 1 else _read_plain


def _read_tsv(path: Path, lines: Iterable[_Line]) -> Iterator[Paragraph]:
    for number, line in lines:
        title, *texts = line.split("\t")
        if len(texts) == 1:
            yield Paragraph(title.strip(), texts[0].strip())
        elif line.strip():
            problem = (
                f"expected 2 tab-separated columns (title, text), got {len(texts) + 1}: "
                f"{shorten(line)}"
            )
            raise FileError(path, problem, line=number)


def _read_json(path: Path, lines: Iterable[_Line]) -> Iterator[Paragraph]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except KoalaError as error:
            raise FileError(path, f"{error} {shorten(line)}", line=number) from None
        title, text = (_get_string(value, key, path, number) for key in ("title", "text"))
        # Extracted articles are not wrapped: every line is a paragraph.
        for paragraph in text.split("\n"):
            yield Paragraph(title.strip(), paragraph.strip())


def _get_string(value: object, key: str, path: Path, number: int) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, str):
        problem = f'expected an object with "title" and "text", got {shorten(repr(value))}.'
        raise FileError(path, problem, line=number)
    return found


def _read_plain(path: Path, lines: Iterable[_Line]) -> Iterator[Paragraph]:
    """Yield paragraphs with the name of the file as title."""
    lines = iter(lines)
    head: list[_Line] = []
    for line in lines:
        head.append(line)
        if len(head) == _INSPECTED_LINES or len(line.text) > _WRAP_WIDTH:
            break
    texts = [line.text.strip() for line in head]
    # A wrapped text has only short lines, and blank lines between paragraphs.
    is_wrapped = "" in texts and max(map(len, texts)) <= _WRAP_WIDTH
    everything = chain(head, lines)
    for text in _join_wrapped(path, everything) if is_wrapped else (e.text for e in everything):
        yield Paragraph(path.name, text.strip())


def _join_wrapped(path: Path, lines: Iterable[_Line]) -> Iterator[str]:
    parts: list[str] = []
    length = 0
    for number, line in lines:
        if line.strip():
            parts.append(line.strip())
            length += len(line)
        elif parts:
            yield " ".join(parts)
            parts, length = [], 0
        if length > LONGEST:
            problem = f"more than {LONGEST:,} characters without a blank line between paragraphs."
            raise FileError(path, problem, line=number)
    yield " ".join(parts)
