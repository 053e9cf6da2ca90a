"""Local engine: chunks of records are tracked in worker processes and written in order."""

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
from koala.bulk.records import Limits, Record, read_records
from koala.bulk.sources import measure, measure_source
from koala.bulk.tables import check_format
from koala.errors import FileError, KoalaError
from koala.registry import AUTO, Trackers, load, sign, sign_knowledge

CHUNK = 32
"""Records tracked together; within a chunk, batches are formed by length."""

_RETRIES = 3
"""How often a chunk is tried if its worker dies."""

Progress = Callable[[int, int, int], None]
"""Receives the bytes read, the bytes of all inputs, and the records done in this run."""


@dataclass(frozen=True, slots=True)
class Done:
    """A tracked chunk."""

    n_records: int
    end: int
    """Bytes of all files up to the end of the chunk, for the progress bar."""
    lines: Lines


@dataclass(frozen=True, slots=True)
class Plan:
    """Options of a run."""

    n_workers: int = 1
    """The output does not depend on it."""
    has_knowledge: bool = True
    """Whether triples are retrieved; without them, grids differ and their signature says so."""
    limits: Limits = field(default_factory=Limits)
    """Records beyond these limits are refused."""


class Engine(Protocol):
    """Function that tracks chunks and yields them in order."""

    def __call__(
        self, chunks: Iterator[list[Record]], *, model: str | Path, plan: Plan
    ) -> Generator[Done, None, None]:
        """Track the chunks with a model."""


def run_local(
    inputs: Sequence[Path],
    output: Path,
    *,
    model: str | Path = "auto",
    plan: Plan | None = None,
    resume: bool = False,
    progress: Progress = lambda _done, _total, _n: None,
) -> Position:
    """Track all records of some files on this machine; memory use does not grow with the input."""
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
    """Track all records of some files on an engine; output and journal do not depend on it."""
    plan = plan or Plan()
    total = measure(inputs)
    _check_apart(inputs, output)
    check_format(output)
    sizes = tuple((path.name, measure_source(path)) for path in inputs)
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
    """Refuse an output that would overwrite an input."""
    written = {path.resolve() for path in list_files(output)}
    for path in inputs:
        if path.resolve() in written:
            raise FileError(
                path, f"is an input that {output} would overwrite. Write to another file."
            )


def _check_any(inputs: Sequence[Path], journal: Journal) -> None:
    """Refuse input without any usable record; the reports of bad records are kept."""
    n_records, n_bad = journal.position.n_records, journal.position.n_bad
    if not n_records:
        names = ", ".join(map(str, inputs))
        raise KoalaError(
            f"{names}: no record was found; JSON lines, or a .csv or .parquet table, were expected."
        )
    if n_bad < n_records:
        return
    journal.give_up()
    with journal.errors.open(encoding="utf-8") as file:
        reason = json.loads(file.readline())["reason"]
    raise KoalaError(
        f"None of the {n_records:,} records could be tracked. The first: {reason} "
        f"{journal.errors} lists the reasons of all."
    )


def _split(records: Iterator[Record]) -> Iterator[list[Record]]:
    while chunk := list(itertools.islice(records, CHUNK)):
        yield chunk


def _run(
    chunks: Iterator[list[Record]], *, model: str | Path, plan: Plan
) -> Generator[Done, None, None]:
    """Track chunks in workers, a few ahead of the writer, and yield them in order."""
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
    """Worker processes with one tracker each; if one dies, its chunk is tried again."""

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
        """Give the first waiting chunk as soon as it is tracked."""
        for _ in range(_RETRIES):
            chunk, future = waiting[0]
            try:
                lines = future.result()
            except BrokenProcessPool:
                # The whole pool is lost, with all waiting chunks: start a new one.
                self._executor = self._start()
                chunks = [chunk for chunk, _ in waiting]
                waiting.clear()
                waiting.extend((chunk, self.submit(chunk)) for chunk in chunks)
                continue
            waiting.popleft()
            return Done(len(chunk), chunk[-1].end, lines)
        first = waiting[0][0][0]
        raise KoalaError(
            f"Workers died {_RETRIES} times at {first.file}, line {first.line} or after. Earlier "
            "records are saved. Check the free memory, then run the same command with --resume."
        )

    def close(self) -> None:
        # wait=False: after Ctrl-C, the command ends at once.
        self._executor.shutdown(wait=False, cancel_futures=True)


def open_trackers(model: str, *, has_knowledge: bool) -> Trackers:
    """Open the trackers of a worker, which has one core; `auto` loads them when texts need them."""
    open = partial(load, has_knowledge=has_knowledge, n_threads=1)
    return Trackers.bundled(open) if model == AUTO else Trackers.single(open(model))


_trackers: Trackers | KoalaError | None = None
"""The trackers of a worker process, or the error that opening them raised."""


def _open(model: str, has_knowledge: bool) -> None:
    global _trackers
    end_with_parent()
    try:
        _trackers = open_trackers(model, has_knowledge=has_knowledge)
    except KoalaError as error:
        # An exception in an initializer would only break the pool: the first chunk raises it.
        _trackers = error


def _track(records: list[Record], limits: Limits) -> Lines:
    if isinstance(_trackers, KoalaError):
        raise _trackers
    if _trackers is None:
        raise RuntimeError("a worker without a tracker")
    return track_records(_trackers, records, limits)
