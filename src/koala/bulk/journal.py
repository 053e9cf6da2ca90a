"""How far a run has come, on disk: after a kill at any moment it goes on where it was.

Lines go to `OUT.part` and `OUT.errors.part`; the journal says how many bytes of each belong to how
many records, and is replaced as a whole. What was written behind that is cut off on resuming. Both
files get their names when everything is there; a run that was killed just then has ended. They are
locked while they grow: two runs do not write one output.
"""

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from koala.errors import FileError, KoalaError
from koala.files import parse_json, read_text, write_text

try:
    import fcntl
except ImportError:  # Windows: two runs that write one file are not told apart
    fcntl = None  # type: ignore[assignment]

_SECONDS = 0.5
"""Between two notes in the journal at least: with hundreds of workers a note for every chunk would
keep the disk busy and the workers waiting. What is not noted is done again after a kill."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a run does; a run goes on only as the same job."""

    inputs: tuple[tuple[str, int], ...]
    """Name and size of each file."""
    model: str
    knowledge: str
    """Where triples come from, if there are any."""
    chunk: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far it has come."""

    n_records: int = 0
    n_bad: int = 0
    n_bytes: int = 0
    n_bad_bytes: int = 0


class Journal:
    """The files of a run. Used as a context: on leaving, what is not finished stays to go on."""

    def __init__(self, output: Path, job: Job, *, resume: bool) -> None:
        self.output = output
        _, self.errors, self._part, self._bad_part, self._journal = list_files(output)
        self._job = job
        self.position = self._noted = self._open(resume=resume)
        self._noted_at = 0.0
        self._files: tuple[IO[bytes], IO[bytes]] = (
            _open_at(self._part, self.position.n_bytes),
            _open_at(self._bad_part, self.position.n_bad_bytes),
        )

    def _open(self, *, resume: bool) -> Position:
        if not self.output.parent.is_dir():
            raise FileError(self.output, "its folder is missing. Make it first.")
        if self.output.is_dir():
            raise FileError(self.output, "this is a folder, a file was expected.")
        if self._journal.is_file() and self.output.exists() and not self._part.exists():
            self._give_names(self._read())
        if not self._journal.is_file():
            if self.output.exists() and resume:
                raise FileError(self.output, "is finished already; nothing to go on with.")
            return Position()
        if not resume:
            raise FileError(
                self._journal,
                "a run that is not finished. Go on with --resume, or remove this file.",
            )
        return self._read()

    def _read(self) -> Position:
        job, position = _read_journal(self._journal)
        if job != self._job:
            raise FileError(
                self._journal,
                "a run with other inputs, another model or other knowledge. "
                "Use those, or remove it.",
            )
        return position

    def add(self, grids: str, bad: str, n_records: int, n_bad: int) -> None:
        """Write what a chunk has given; sooner or later note that it is there."""
        written = []
        for file, text in zip(self._files, (grids, bad), strict=True):
            file.write(text.encode())
            written.append(file.tell())
        old = self.position
        self.position = Position(old.n_records + n_records, old.n_bad + n_bad, *written)
        if time.monotonic() - self._noted_at >= _SECONDS:
            self._note()

    def _note(self) -> None:
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())
        state = {"job": asdict(self._job), "position": asdict(self.position)}
        write_text(self._journal, json.dumps(state) + "\n")
        self._noted, self._noted_at = self.position, time.monotonic()

    def finish(self) -> None:
        """Give the files their names; without bad records there is no file of them."""
        self._note()
        self.close()
        self._part.replace(self.output)
        self._give_names(self.position)

    def give_up(self) -> None:
        """Keep only what is wrong with the records: no grid came of them."""
        self._note()
        self.close()
        self._part.unlink()
        self._give_names(self.position)

    def _give_names(self, position: Position) -> None:
        """Do what is left when the grids are in their place: that was the end of the run."""
        if position.n_bad and self._bad_part.exists():
            self._bad_part.replace(self.errors)
        elif not position.n_bad:
            self._bad_part.unlink(missing_ok=True)
            self.errors.unlink(missing_ok=True)
        self._journal.unlink()

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.position != self._noted:
            with suppress(OSError):
                self._note()
        self.close()
        if self.position == Position() and not self._journal.exists():
            # It ended before anything came of it: nothing to go on with.
            self._part.unlink(missing_ok=True)
            self._bad_part.unlink(missing_ok=True)


def list_files(output: Path) -> tuple[Path, Path, Path, Path, Path]:
    """Name the files of a run: grids, bad records, both while they grow, and the journal."""
    name = output.name
    return (
        output,
        output.with_name(f"{name}.errors"),
        output.with_name(f"{name}.part"),
        output.with_name(f"{name}.errors.part"),
        output.with_name(f"{name}.journal"),
    )


def _read_journal(path: Path) -> tuple[Job, Position]:
    text = read_text(path)
    try:
        value = parse_json(text)
        job, position = value["job"], Position(**value["position"])
        inputs = tuple((str(name), int(size)) for name, size in job.pop("inputs"))
        if any(type(number) is not int or number < 0 for number in astuple(position)):
            raise ValueError("a position is a number of records or bytes")
        return Job(inputs, **job), position
    except (KoalaError, LookupError, TypeError, ValueError, AttributeError):
        problem = "not a journal of this version of koala. Remove it, or write to another file."
        raise FileError(path, problem) from None


def _open_at(path: Path, n_bytes: int) -> IO[bytes]:
    """Open a file to write on at a position; what stands behind it goes."""
    if n_bytes and (not path.is_file() or path.stat().st_size < n_bytes):
        raise FileError(path, "is shorter than its journal says. Remove the journal, begin anew.")
    path.touch()
    file = path.open("r+b")
    _lock(file, path)
    file.truncate(n_bytes)
    file.seek(n_bytes)
    return file


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse a file that another run writes; the system opens the lock when that ends, however."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        problem = "another koala batch is writing it. Wait for its end, or write to another file."
        raise FileError(path, problem) from None
    except OSError:
        pass  # a file system without locks
