"""Ray engine: the same chunks as on one machine, tracked by Ray workers."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from koala.bulk.chunk import Lines, track_records
from koala.bulk.journal import Position
from koala.bulk.local import Done, Plan, Progress, open_trackers, run_job
from koala.bulk.ray import TRIES, WorkersDiedError, open_cluster
from koala.bulk.records import Limits, Record
from koala.errors import KoalaError
from koala.registry import AUTO, find_model, list_models, sign, sign_knowledge


def run_ray(
    inputs: Sequence[Path],
    output: Path,
    *,
    model: str | Path = "auto",
    plan: Plan | None = None,
    resume: bool = False,
    progress: Progress = lambda _done, _total, _n: None,
    address: str | None = None,
) -> Position:
    """Track all records of some files on Ray: on this machine, or on the cluster at an address.

    Files are read and written by this process; workers need only koala and the model. A run of the
    local engine can be resumed.
    """
    engine = partial(_run, address=address)
    return run_job(engine, inputs, output, model=model, plan=plan, resume=resume, progress=progress)


def _run(
    chunks: Iterator[list[Record]], *, model: str | Path, plan: Plan, address: str | None
) -> Generator[Done, None, None]:
    waiting: deque[tuple[Record, int, int]] = deque()

    def send() -> Iterator[list[Record]]:
        for chunk in chunks:
            # Ray keeps the text of a chunk; here only the position of its first record is needed.
            waiting.append((replace(chunk[0], raw=b""), len(chunk), chunk[-1].end))
            yield chunk

    signatures = _sign(model, plan.has_knowledge)
    open_work = partial(_open, _name(model), signatures, plan.has_knowledge, plan.limits)
    with open_cluster(address, n_workers=plan.n_workers) as cluster:
        try:
            for lines in cluster.map(open_work, send()):
                _, n_records, end = waiting.popleft()
                yield Done(n_records, end, lines)
        except WorkersDiedError:
            first = waiting[0][0]
            raise KoalaError(
                f"Workers died {TRIES} times at {first.file}, line {first.line} or after. Earlier "
                "records are saved. Check the free memory, then run the same command with --resume."
            ) from None


def _name(model: str | Path) -> str:
    """Name a model for workers on other machines: a bundled one by name, others by folder."""
    if model == AUTO:
        return AUTO
    folder = find_model(model)
    is_bundled = folder in list_models().values()
    return folder.name if is_bundled else str(folder.resolve())


def _sign(model: str | Path, has_knowledge: bool) -> tuple[str, str]:
    return sign(model), sign_knowledge(model, has_knowledge=has_knowledge)


def _open(
    model: str, signatures: tuple[str, str], has_knowledge: bool, limits: Limits
) -> Callable[[list[Record]], Lines]:
    """Open the trackers of a worker; its model and store must have the given signatures."""
    if (own := _sign(model, has_knowledge)) != signatures:
        raise KoalaError(
            f"Model {model} of a worker is {' with '.join(own)}; {' with '.join(signatures)} was "
            "expected. Install the same version of koala on all machines, and set KOALA_STORE to "
            "the same store, or nowhere."
        )
    trackers = open_trackers(model, has_knowledge=has_knowledge)
    return partial(track_records, trackers, limits=limits)
