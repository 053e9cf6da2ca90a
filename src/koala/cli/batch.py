"""`koala batch`: track many procedures, streamed and resumable."""

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from koala.cli.engines import AddressOption, Engine, EngineOption, check_address
from koala.cli.options import KnowledgeOption
from koala.cli.progress import show_progress
from koala.cli.training import tell
from koala.errors import KoalaError

EXAMPLE = "Example: koala batch protocols.jsonl -o grids.jsonl --workers 2"

_OTHER_SUFFIXES = {".gz", ".bz2", ".xz", ".zst", ".zip", ".tsv"}
"""File name suffixes of formats that koala batch does not write."""


def batch_cli(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN",
            help="Procedures: JSON lines (plain or .gz), .csv, .tsv or .parquet tables, or folders "
            "of saved Hugging Face datasets.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Grids, as JSON lines, or by its suffix as a .csv or .parquet table or a "
            ".dataset folder. Bad records are listed in OUT.errors.",
        ),
    ],
    workers: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of worker processes, one core each.")
    ] = 1,
    engine: EngineOption = Engine.LOCAL,
    address: AddressOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Name of a bundled model, or folder of an exported one; auto: recipes for "
            "recipes, small for other texts.",
        ),
    ] = "auto",
    knowledge: KnowledgeOption = True,
) -> None:
    """Track many procedures: one record per line or row in, one grid out, in order.

    A record is {"id", "text" or "steps", "entities"}. Without entities, they
    are found in the text; other fields are copied to the output. In a CSV table,
    entities are separated by |. A CSV output has a line for every entity and step.
    After an interruption at any moment, the same command with --resume continues.
    Both engines write the same bytes, and each can resume a run of the other.
    """
    from koala.bulk.ids import count_repeated
    from koala.bulk.local import Plan, run_local
    from koala.bulk.ray_chunks import run_ray
    from koala.bulk.tables import find_format

    check_address(engine, address)
    check_files(inputs, output)
    run = run_local if engine is Engine.LOCAL else partial(run_ray, address=address)
    plan = Plan(workers, knowledge)
    with _explain_interrupts(), show_progress("Tracking") as progress:
        done = run(inputs, output, model=model, plan=plan, resume=resume, progress=progress)
    tell(f"Wrote {output}: {done.n_records - done.n_bad:,} grids.")
    if done.n_bad:
        tell(f"{done.n_bad:,} records could not be tracked; see {output}.errors for the reasons.")
    if find_format(output) == "jsonl" and (n_repeated := count_repeated(output)):
        tell(
            f"Warning: {n_repeated:,} grids repeat the id of an earlier one; koala show does not "
            "accept such a file."
        )


@contextmanager
def _explain_interrupts() -> Iterator[None]:
    """On Ctrl-C or SIGTERM, say how to resume and exit with 130."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        tell("Stopped. Finished records are saved; run the same command with --resume to continue.")
        # Otherwise they would finish their current chunks, which nobody writes any more.
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def check_files(inputs: Sequence[Path], output: Path) -> None:
    """Refuse stdin and stdout, which cannot be resumed, and output names of other formats."""
    if any(str(path) == "-" for path in inputs):
        raise KoalaError(
            "koala batch does not read stdin, because --resume could not read it again. "
            "Save the input to a file."
        )
    if str(output) == "-":
        raise KoalaError(
            "koala batch does not write to stdout, because --resume could not continue it. "
            "Give -o the name of a file."
        )
    if output.suffix.lower() in _OTHER_SUFFIXES:
        raise KoalaError(
            "koala batch writes plain JSON lines, .csv, .parquet or .dataset, but the suffix of "
            f"{output.name} names another format. Give -o a name such as grids.jsonl."
        )
