"""`koala batch`: many procedures, streamed and resumable."""

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from koala.cli.engines import AddressOption, Engine, EngineOption, check_address
from koala.cli.progress import show_progress
from koala.cli.training import tell
from koala.errors import KoalaError

EXAMPLE = "Example: koala batch protocols.jsonl -o grids.jsonl --workers 2"

_OTHERS = {".parquet", ".gz", ".bz2", ".xz", ".zst", ".zip", ".csv", ".tsv"}
"""Ends of names that JSON lines do not have."""


def batch_cli(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN…", help="Procedures: JSON lines, plain or .gz, or .parquet tables."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Grids, JSON lines; bad records: OUT.errors.")
    ],
    workers: Annotated[int, typer.Option(min=1, max=10_000, help="Processes, one core each.")] = 1,
    engine: EngineOption = Engine.LOCAL,
    address: AddressOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run.")] = False,
    model: Annotated[
        str,
        typer.Option(
            help="A bundled model's name, or a folder; auto: recipes for recipes, else small."
        ),
    ] = "auto",
    knowledge: Annotated[
        bool, typer.Option("--knowledge/--no-knowledge", help="Retrieve triples for the entities.")
    ] = True,
) -> None:
    """Track many procedures: `{"id", "text" | "steps", "entities"?}` a line, grids out in order.

    Entities are found where none are named; other fields are kept. Killed at
    any moment, the same command with --resume goes on where it was. Both
    engines write the same bytes, and one can go on with a run of the other.
    """
    from koala.bulk.ids import count_repeated
    from koala.bulk.local import Plan, run_local
    from koala.bulk.ray_chunks import run_ray

    check_address(engine, address)
    check_files(inputs, output)
    run = run_local if engine is Engine.LOCAL else partial(run_ray, address=address)
    plan = Plan(workers, knowledge)
    with tell_how_to_go_on(), show_progress("Tracking") as progress:
        done = run(inputs, output, model=model, plan=plan, resume=resume, progress=progress)
    tell(f"Wrote {output}: {done.n_records - done.n_bad:,} grids.")
    if done.n_bad:
        tell(f"{done.n_bad:,} records could not be tracked; {output}.errors says why.")
    if n_repeated := count_repeated(output):
        tell(f"Warning: {n_repeated:,} grids have the id of one before; koala show refuses that.")


@contextmanager
def tell_how_to_go_on() -> Iterator[None]:
    """End with a sentence on Ctrl-C, and on SIGTERM as well."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        tell("Stopped; what is done is kept. The same command with --resume goes on.")
        # They would first end what they are at, which nobody writes any more.
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def check_files(inputs: Sequence[Path], output: Path) -> None:
    """Refuse streams, which nobody can go on with, and names of other files than JSON lines."""
    if any(str(path) == "-" for path in inputs):
        raise KoalaError(
            "koala batch does not read stdin: --resume could not read it again. "
            "Write it to a file, and give that."
        )
    if str(output) == "-":
        raise KoalaError(
            "koala batch does not write to stdout: --resume could not go on with it. "
            "Give -o the name of a file."
        )
    if output.suffix.lower() in _OTHERS:
        raise KoalaError(
            f"koala batch writes plain JSON lines, and {output.name} is the name of something "
            "else. Give -o a name such as grids.jsonl."
        )
