"""The engine of a cluster: the same chunks as on one machine, through workers of Ray."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path

from koala.errors import KoalaError
from koala.runtime.files import read_card
from koala.runtime.models import find_model, list_models
from koala.scale.cluster import TRIES, WorkersDiedError, open_cluster
from koala.scale.journal import Position
from koala.scale.local import Done, Plan, Progress, run_job
from koala.scale.records import Limits, Record
from koala.scale.work import Lines, track_records
from koala.tracker import load


def run_ray(
    inputs: Sequence[Path],
    output: Path,
    *,
    model: str | Path = "small",
    plan: Plan | None = None,
    resume: bool = False,
    progress: Progress = lambda _done, _total, _n: None,
    address: str | None = None,
) -> Position:
    """Track all records of some files on Ray: on this machine, or on the cluster at an address.

    Files are read and written here; workers need koala and the model, and are as many as the plan
    says at most. A run that another engine has begun can be resumed.
    """
    engine = partial(_run, model=model, plan=plan or Plan(), address=address)
    return run_job(engine, inputs, output, model=model, resume=resume, progress=progress)


def _run(
    chunks: Iterator[list[Record]], *, model: str | Path, plan: Plan, address: str | None
) -> Generator[Done, None, None]:
    waiting: deque[tuple[Record, int, int]] = deque()

    def send() -> Iterator[list[Record]]:
        for chunk in chunks:
            # The text of a chunk is Ray's to keep.
            first = Record(chunk[0].file, chunk[0].line, b"", 0)
            waiting.append((first, len(chunk), chunk[-1].end))
            yield chunk

    signature = read_card(find_model(model)).signature
    open_work = partial(_open, _name(model), signature, plan.has_knowledge, plan.limits)
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
    folder = find_model(model)
    is_bundled = folder in list_models().values()
    return folder.name if is_bundled else str(folder.resolve())


def _open(
    model: str, signature: str, has_knowledge: bool, limits: Limits
) -> Callable[[list[Record]], Lines]:
    """Open the tracker of a worker."""
    tracker = load(model, has_knowledge=has_knowledge, n_threads=1)
    if tracker.card.signature != signature:
        raise KoalaError(
            f"A worker's model {model} is {tracker.card.signature}; {signature} was expected. "
            "Install the same koala on all machines."
        )
    return partial(track_records, tracker, limits=limits)
