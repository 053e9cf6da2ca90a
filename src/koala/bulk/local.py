"""The engine of one machine: chunks in order through worker processes, written in order."""

import itertools
import json
import multiprocessing
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from koala.bulk.chunk import Lines, track_records
from koala.bulk.journal import Job, Journal, Position, list_files
from koala.bulk.processes import end_with_parent, without_interrupts
from koala.bulk.records import Limits, Record, measure, read_records
from koala.errors import FileError, KoalaError
from koala.registry import AUTO, Trackers, load, sign, sign_knowledge

CHUNK = 32
"""Records that are tracked together: batches are sorted by length within these."""

_RETRIES = 3
"""How often a chunk is tried when its worker dies."""

Progress = Callable[[int, int, int], None]
"""Is told how many bytes of how many are read, and how many records that were in this run."""


@dataclass(frozen=True, slots=True)
class Done:
    """A chunk that was tracked."""

    n_records: int
    end: int
    """Bytes of all files up to its end, for a progress bar."""
    lines: Lines


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run is to be done."""

    n_workers: int = 1
    """Changes nothing in what comes out."""
    has_knowledge: bool = True
    """Whether triples are retrieved: without them grids are others, and say so."""
    limits: Limits = field(default_factory=Limits)
    """Which records are too large."""


class Engine(Protocol):
    """Tracks chunks and gives them in order."""

    def __call__(
        self, chunks: Iterator[list[Record]], *, model: str | Path, plan: Plan
    ) -> Generator[Done, None, None]:
        """Track them with a model."""


def run_local(
    inputs: Sequence[Path],
    output: Path,
    *,
    model: str | Path = "auto",
    plan: Plan | None = None,
    resume: bool = False,
    progress: Progress = lambda _done, _total, _n: None,
) -> Position:
    """Track all records of some files; memory does not grow with them."""
    return run_job(_run, inputs, output, model=model, plan=plan, resume=resume, progress=progress)


def run_job(
    engine: Engine,
    inputs: Sequence[Path],
    output: Path,
    *,
    model: str | Path,
    plan: Plan | None = None,
    resume: bool,
    progress: Progress,
) -> Position:
    """Track all records of some files on any engine: the bytes and the journal are the same."""
    plan = plan or Plan()
    total = measure(inputs)
    _check_apart(inputs, output)
    sizes = tuple((path.name, path.stat().st_size) for path in inputs)
    knowledge = sign_knowledge(model, has_knowledge=plan.has_knowledge)
    job = Job(sizes, sign(model), knowledge, CHUNK)
    with Journal(output, job, resume=resume) as journal:
        before = journal.position.n_records
        records = read_records(inputs, start=before)
        with closing(engine(_split(records), model=model, plan=plan)) as chunks:
            for done in chunks:
                lines = done.lines
                journal.add(lines.grids, lines.bad, done.n_records, lines.n_bad)
                progress(done.end, total, journal.position.n_records - before)
        _check_any(inputs, journal)
        journal.finish()
        return journal.position


def _check_apart(inputs: Sequence[Path], output: Path) -> None:
    """Refuse to write over a file that is read."""
    written = {path.resolve() for path in list_files(output)}
    for path in inputs:
        if path.resolve() in written:
            raise FileError(path, f"is read, and {output} would replace it. Write to another file.")


def _check_any(inputs: Sequence[Path], journal: Journal) -> None:
    """Refuse input of which nothing came; what is wrong with each record stays to be read."""
    n_records, n_bad = journal.position.n_records, journal.position.n_bad
    if not n_records:
        names = ", ".join(map(str, inputs))
        raise KoalaError(f"{names}: no record came; JSON lines or a .parquet table were expected.")
    if n_bad < n_records:
        return
    journal.give_up()
    with journal.errors.open(encoding="utf-8") as file:
        reason = json.loads(file.readline())["reason"]
    raise KoalaError(
        f"None of the {n_records:,} records could be tracked. The first: {reason} "
        f"{journal.errors} says it of each."
    )


def _split(records: Iterator[Record]) -> Iterator[list[Record]]:
    while chunk := list(itertools.islice(records, CHUNK)):
        yield chunk


def _run(
    chunks: Iterator[list[Record]], *, model: str | Path, plan: Plan
) -> Generator[Done, None, None]:
    """Run chunks in workers, a few ahead of what is written; give them in order."""
    pool = _Pool(model, plan)
    waiting: deque[tuple[list[Record], Future[Lines]]] = deque()
    try:
        for chunk in chunks:
            waiting.append((chunk, pool.submit(chunk)))
            if len(waiting) > 2 * plan.n_workers:
                yield pool.wait(waiting)
        while waiting:
            yield pool.wait(waiting)
    finally:
        pool.close()


class _Pool:
    """Worker processes that hold a tracker each; one that dies is replaced, its chunk repeated."""

    def __init__(self, model: str | Path, plan: Plan) -> None:
        self._arguments = (str(model), plan.has_knowledge)
        self._plan = plan
        self._executor = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._plan.n_workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_open,
            initargs=self._arguments,
        )

    def submit(self, chunk: list[Record]) -> "Future[Lines]":
        with without_interrupts():
            return self._executor.submit(_track, chunk, self._plan.limits)

    def wait(self, waiting: "deque[tuple[list[Record], Future[Lines]]]") -> Done:
        """Give the first chunk that waits, and what it has given."""
        for _ in range(_RETRIES):
            chunk, future = waiting[0]
            try:
                lines = future.result()
            except BrokenProcessPool:
                # All that wait are lost with the pool, not only the one whose worker died.
                self._executor = self._start()
                chunks = [chunk for chunk, _ in waiting]
                waiting.clear()
                waiting.extend((chunk, self.submit(chunk)) for chunk in chunks)
                continue
            waiting.popleft()
            return Done(len(chunk), chunk[-1].end, lines)
        first = waiting[0][0][0]
        raise KoalaError(
            f"Workers died {_RETRIES} times at {first.file}, line {first.line} and behind; all "
            "before is saved. Is there enough memory? The same command with --resume goes on."
        )

    def close(self) -> None:
        # Not waiting: who has stopped a run is told so at once.
        self._executor.shutdown(wait=False, cancel_futures=True)


def open_trackers(model: str, *, has_knowledge: bool) -> Trackers:
    """Open the tracker of a worker, which has one core; with `auto`, those that texts need."""
    open = partial(load, has_knowledge=has_knowledge, n_threads=1)
    return Trackers.bundled(open) if model == AUTO else Trackers.alone(open(model))


_trackers: Trackers | KoalaError | None = None
"""Of a worker process, or why it has none."""


def _open(model: str, has_knowledge: bool) -> None:
    global _trackers
    end_with_parent()
    try:
        _trackers = open_trackers(model, has_knowledge=has_knowledge)
    except KoalaError as error:
        # Raised here it would only kill the worker: the first chunk tells it.
        _trackers = error


def _track(records: list[Record], limits: Limits) -> Lines:
    if isinstance(_trackers, KoalaError):
        raise _trackers
    if _trackers is None:
        raise RuntimeError("a worker without a tracker")
    return track_records(_trackers, records, limits)
