"""The engine of a cluster: the same chunks as on one machine, through workers of Ray."""

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

    Files are read and written here; workers need koala and the model, and are as many as the plan
    says at most. A run that another engine has begun can be resumed.
    """
    engine = partial(_run, address=address)
    return run_job(engine, inputs, output, model=model, plan=plan, resume=resume, progress=progress)


def _run(
    chunks: Iterator[list[Record]], *, model: str | Path, plan: Plan, address: str | None
) -> Generator[Done, None, None]:
    waiting: deque[tuple[Record, int, int]] = deque()

    def send() -> Iterator[list[Record]]:
        for chunk in chunks:
            # The text of a chunk is Ray's to keep.
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
                f"Workers died {TRIES} times at {first.file}, line {first.line} or behind; all "
                "before is saved. Is there enough memory? The same command with --resume goes on."
            ) from None


def _name(model: str | Path) -> str:
    """Name a model so that a worker finds it: a bundled one wherever koala is, or a folder."""
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
    """Open the trackers of a worker."""
    if (own := _sign(model, has_knowledge)) != signatures:
        raise KoalaError(
            f"A worker's model {model} is {' with '.join(own)}; {' with '.join(signatures)} was "
            "expected. Install the same koala on all machines, with the same KOALA_STORE if any."
        )
    trackers = open_trackers(model, has_knowledge=has_knowledge)
    return partial(track_records, trackers, limits=limits)
