"""Read text, TSV, CSV and JSON lines, and write files, with errors that name file and line."""

import csv
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from koala.errors import FileError, KoalaError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def explain_read_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors of the block, which reads a file, into FileErrors."""
    try:
        yield
    except FileNotFoundError:
        raise FileError(path, "no such file. Check the path.") from None
    except IsADirectoryError:
        raise FileError(path, "this is a folder; expected a file.") from None
    except OSError as error:
        raise FileError(path, f"cannot be read ({error.strerror}).") from None


def read_text(path: str | Path) -> str:
    """Read a UTF-8 file or, for `-`, stdin; drop a byte-order mark and Windows line ends."""
    path = Path(path)
    with explain_read_errors(path):
        if str(path) == "-":
            raw = _read_stdin()
        else:
            # A pipe can be read only once, but its format is detected by reading it: cache it.
            raw = path.read_bytes() if path.is_file() else _read_once(path)
    if b"\x00" in raw:
        line = raw[: raw.index(b"\x00")].count(b"\n") + 1
        raise FileError(path, "contains a NUL byte; expected UTF-8 text.", line=line)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        byte = raw[error.start]
        problem = f"byte 0x{byte:02x} is not UTF-8. Convert the file to UTF-8."
        raise FileError(path, problem, line=line) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


@lru_cache(maxsize=1)
def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise KoalaError("stdin is closed. Give a file, or pipe a text in.")
    return sys.stdin.buffer.read()


@lru_cache(maxsize=8)
def _read_once(path: Path) -> bytes:
    return path.read_bytes()


def read_lines(path: str | Path) -> list[tuple[int, str]]:
    """Give the lines that are not blank, each with its number; at least one is required."""
    # Not str.splitlines: it also splits at characters that may occur in a sentence (U+2028).
    lines = [(n, line) for n, line in enumerate(read_text(path).split("\n"), 1) if line.strip()]
    if not lines:
        raise FileError(path, "this file is empty.")
    return lines


def read_tsv(path: str | Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Give line number and cells of every row; a row may have more columns, but not fewer."""
    for number, line in read_lines(path):
        row = line.split("\t")
        if len(row) < len(columns):
            problem = (
                f"expected {len(columns)} tab-separated columns ({', '.join(columns)}), "
                f"got {len(row)}: {shorten(line)}"
            )
            raise FileError(path, problem, line=number)
        yield number, row


def read_blocks(path: str | Path, columns: Sequence[str]) -> Iterator[list[tuple[int, list[str]]]]:
    """Give the rows of a TSV file in blocks, which are separated by blank lines."""
    block: list[tuple[int, list[str]]] = []
    for number, row in read_tsv(path, columns):
        if block and number > block[-1][0] + 1:
            yield block
            block = []
        block.append((number, row))
    if block:
        yield block


def read_csv(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Give line number and cells of every row of a comma-separated file, also of blank rows."""
    text = read_text(path)
    if not text.strip():
        raise FileError(path, "this file is empty.")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        problem = f"not a comma-separated file ({error})."
        raise FileError(path, problem, line=reader.line_num) from None


def read_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give line number and JSON object of every line that is not blank."""
    for number, line in read_lines(path):
        try:
            value = parse_json(line)
        except KoalaError as error:
            raise FileError(path, f"{error} {shorten(line)}", line=number) from None
        if not isinstance(value, dict):
            problem = f"expected a JSON object, got {_describe_type(value)}: {shorten(line)}"
            raise FileError(path, problem, line=number)
        yield number, value


def parse_json(text: str) -> Any:  # noqa: ANN401
    """Parse JSON; any error in it, also text that UTF-8 cannot encode, raises KoalaError."""
    try:
        value = json.loads(text)
        text.encode()
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise KoalaError(f"Not JSON ({error.msg}, line {error.lineno}).") from None
    except UnicodeEncodeError:
        raise KoalaError(
            "Not JSON that UTF-8 can encode (an unpaired surrogate, such as \\ud800)."
        ) from None
    except RecursionError:
        raise KoalaError("Not JSON that can be read (nested too deeply).") from None
    except ValueError as error:
        raise KoalaError(f"Not JSON that can be read ({error}).") from None
    return value


def read_int(cell: str, what: str, *, path: str | Path, line: int, most: int = 10_000) -> int:
    """Read a whole number from 1 to `most` from a cell; `what` names the cell in the message."""
    # Not int() alone: it also accepts "1_0" and non-ASCII digits, which other readers do not.
    digits = cell.strip()
    if digits.isascii() and digits.isdigit() and len(digits) < 10 and 1 <= int(digits) <= most:
        return int(digits)
    problem = f"{what} is {shorten(cell)}; expected a whole number from 1 to {most}."
    raise FileError(path, problem, line=line)


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Raise an error, before any work, for outputs that cannot be written or overwrite an input.

    None and `-` are skipped. An input that is a folder stands for every file in it.
    """
    paths, sources = _only_files(outputs), _only_files(inputs)
    for number, path in enumerate(paths):
        try:
            _check_output(path, paths[:number], sources)
        except OSError as error:
            raise FileError(path, f"cannot be written ({error.strerror}).") from None


def _only_files(paths: Iterable[Path | None]) -> list[Path]:
    return [path for path in paths if path is not None and str(path) != "-"]


def _check_output(path: Path, others: Sequence[Path], sources: Sequence[Path]) -> None:
    _check_name(path)
    if path.is_dir():
        raise FileError(path, "this is a folder; expected a file to write to.")
    if not _resolve(path).parent.is_dir():
        raise FileError(path, "its folder is missing. Create it first.")
    if path.exists() and not path.is_file():
        return  # a device or a pipe is written to, not replaced
    if any(_is_same(path, other) for other in others):
        raise FileError(path, "would be written twice. Give each output its own name.")
    for source in sources:
        if path.exists() and (_is_same(path, source) or _is_inside(path, source)):
            problem = f"would overwrite an input ({source}). Write to another file."
            raise FileError(path, problem)


def _check_name(path: str | Path) -> None:
    """Raise an error for an empty name, which as a path equals the folder `.`."""
    if Path(path) == Path():
        raise KoalaError("The name of the file to write is empty or `.`. Give the name of a file.")


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return _resolve(path) == _resolve(other)


def _is_inside(path: Path, folder: Path) -> bool:
    return _resolve(path).is_relative_to(_resolve(folder))


def _resolve(path: str | Path) -> Path:
    # Not Path.resolve: it fails if symbolic links form a loop.
    return Path(os.path.realpath(path))


def write_text(path: str | Path, text: str) -> None:
    """Write a file atomically: write a temporary file in the same folder, then rename it."""
    _check_name(path)
    # A symbolic link is kept; the file that it points to is replaced.
    target = _resolve(path)
    try:
        if target.exists() and not target.is_file():
            # A device or a pipe is written to, not replaced; a folder raises an OSError.
            target.write_text(text, encoding="utf-8", newline="\n")
            return
        _replace(target, text)
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror}).") from None


def _replace(target: Path, text: str) -> None:
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Give a temporary path beside a file; rename it to the file at the end, or delete it on error.

    The new file has the permissions of the one that it replaces.
    """
    mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def try_lock(file: IO[Any]) -> bool | None:
    """Lock an open file until it is closed or the process ends; False if another process has it.

    None where files cannot be locked: on Windows and on some file systems.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def shorten(line: str | bytes, width: int = 60) -> str:
    """Quote a line; a line longer than `width` is cut."""
    line = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    return repr(line if len(line) <= width else line[: width - 1] + "…")


def _describe_type(value: object) -> str:
    names = {list: "a list", str: "a string", type(None): "null", bool: "true or false"}
    return names.get(type(value), "a number")


def find_cache() -> Path:
    """Give the folder of files that can be rebuilt or downloaded again; KOALA_CACHE names it."""
    if os.environ.get("KOALA_CACHE"):
        return Path(os.environ["KOALA_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "koala"


def is_folder(path: Path) -> bool:
    """Tell whether a folder exists; a name that the system cannot look up gives False."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
