"""Journal of a run on disk, so that a run killed at any moment can be resumed.

Lines are appended to `OUT.part` and `OUT.errors.part`. The journal says how many records are done
and how many bytes of both files belong to them; it is replaced atomically. On resuming, bytes
beyond that are cut off. At the end, both files get their final names; a run killed during that
counts as finished. The files are locked, so that two runs cannot write the same output.
"""

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import IO

from koala.bulk.tables import check_replaceable, publish
from koala.errors import FileError, KoalaError
from koala.files import parse_json, read_text, try_lock, write_text

_SECONDS = 0.5
"""Minimum time between two writes of the journal: with hundreds of workers, one write per chunk
would keep the disk busy. Chunks finished since the last write are repeated after a kill."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a run computes; only a run of the same job can be resumed."""

    inputs: tuple[tuple[str, int], ...]
    """Name and size of each file."""
    model: str
    """Signature of the model."""
    knowledge: str
    """Signature of the store of triples; knowledge:none without one."""
    chunk: int
    """Records per chunk."""


@dataclass(frozen=True, slots=True)
class Position:
    """Progress of a run."""

    n_records: int = 0
    n_bad: int = 0
    n_bytes: int = 0
    n_bad_bytes: int = 0


class Journal:
    """The output files of a run, as a context manager; an unfinished run can be resumed later."""

    def __init__(self, output: Path, job: Job, *, resume: bool) -> None:
        self.output = output
        _, self.errors, self._part, self._bad_part, self._journal = list_files(output)
        self._job = job
        self.position = self._saved = self._open(resume=resume)
        self._saved_at = 0.0
        self._files: tuple[IO[bytes], IO[bytes]] = (
            _open_at(self._part, self.position.n_bytes),
            _open_at(self._bad_part, self.position.n_bad_bytes),
        )

    def _open(self, *, resume: bool) -> Position:
        if not self.output.parent.is_dir():
            raise FileError(self.output, "its folder is missing. Make it first.")
        check_replaceable(self.output)
        if self._journal.is_file() and self.output.exists() and not self._part.exists():
            # Killed while the files were renamed: the run was finished.
            self._rename_rest(self._read())
        if not self._journal.is_file():
            if self.output.exists() and resume:
                raise FileError(
                    self.output, "is finished already. Omit --resume to track everything again."
                )
            return Position()
        if not resume:
            raise FileError(
                self._journal,
                "belongs to an unfinished run. Continue it with --resume, or remove this file to "
                "start again.",
            )
        return self._read()

    def _read(self) -> Position:
        job, position = _read_journal(self._journal)
        if job != self._job:
            differences = "; ".join(_list_differences(job, self._job))
            raise FileError(
                self._journal,
                f"belongs to a run that differs ({differences}). Resume with the same inputs and "
                "options, or remove this file to start again.",
            )
        return position

    def add(self, grids: str, bad: str, n_records: int, n_bad: int) -> None:
        """Append the lines of a chunk; update the journal at most every `_SECONDS`."""
        written = []
        for file, text in zip(self._files, (grids, bad), strict=True):
            file.write(text.encode())
            written.append(file.tell())
        old = self.position
        self.position = Position(old.n_records + n_records, old.n_bad + n_bad, *written)
        if time.monotonic() - self._saved_at >= _SECONDS:
            self._save()

    def _save(self) -> None:
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())
        state = {"job": asdict(self._job), "position": asdict(self.position)}
        write_text(self._journal, json.dumps(state) + "\n")
        self._saved, self._saved_at = self.position, time.monotonic()

    def finish(self) -> None:
        """Give the files their final names; without bad records there is no OUT.errors."""
        self._save()
        self.close()
        # Killed here, a run still has all its lines, and writes its table again when resumed.
        publish(self._part, self.output)
        self._rename_rest(self.position)

    def give_up(self) -> None:
        """Keep only the reports of bad records, for a run in which all records are bad."""
        self._save()
        self.close()
        self._part.unlink()
        self._rename_rest(self.position)

    def _rename_rest(self, position: Position) -> None:
        """Finish after the grids have their name: rename the reports, remove the journal."""
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
        if self.position != self._saved:
            with suppress(OSError):
                self._save()
        self.close()
        if self.position == Position() and not self._journal.exists():
            # The run ended before its first chunk: there is nothing to resume.
            self._part.unlink(missing_ok=True)
            self._bad_part.unlink(missing_ok=True)


def list_files(output: Path) -> tuple[Path, Path, Path, Path, Path]:
    """Name the files of a run: grids, reports of bad records, both unfinished, the journal."""
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
            raise ValueError("positions are counts of records or bytes")
        return Job(inputs, **job), position
    except (KoalaError, LookupError, TypeError, ValueError, AttributeError):
        problem = "is not a journal of this version of koala. Remove it, or choose another output."
        raise FileError(path, problem) from None


def _list_differences(theirs: Job, ours: Job) -> list[str]:
    """Name the fields in which two jobs differ, with both values."""
    values = zip(fields(Job), astuple(theirs), astuple(ours), strict=True)
    return [
        f"{field.name}: {_show(there)} there, {_show(here)} here"
        for field, there, here in values
        if there != here
    ]


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{name} of {size:,} bytes" for name, size in value)
    return str(value)


def _open_at(path: Path, n_bytes: int) -> IO[bytes]:
    """Open a file for appending at a position; cut off what is beyond."""
    size = path.stat().st_size if path.is_file() else 0
    if size < n_bytes:
        raise FileError(
            path,
            f"has {size:,} bytes, but its journal says {n_bytes:,}. Remove the journal to start "
            "again.",
        )
    path.touch()
    file = path.open("r+b")
    if try_lock(file) is False:
        file.close()
        problem = "another koala batch is writing it. Wait until it ends, or choose another output."
        raise FileError(path, problem)
    file.truncate(n_bytes)
    file.seek(n_bytes)
    return file
