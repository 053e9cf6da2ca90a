"""Helpers of the commands that train: the optional extra, data with progress bars, messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from koala.cli.corpus import read_with_labels
from koala.cli.output import is_main
from koala.cli.progress import show_progress
from koala.errors import KoalaError, needs_extra

if TYPE_CHECKING:
    from koala.training.run import DataSource


@contextmanager
def needs_training() -> Iterator[None]:
    """Name the extra to install if an import fails; on Ctrl-C, say how to resume."""
    try:
        with needs_extra("train", "Training"):
            yield
    except KeyboardInterrupt:
        tell("Stopped. Finished epochs are saved; run the same command with --resume to continue.")
        raise typer.Exit(1) from None


@contextmanager
def open_source(folder: Path, fold: str | None = None) -> "Iterator[DataSource]":
    """Read a corpus, or a fold of it; triples are retrieved, with a bar, when a run needs them."""
    from koala.corpora.corpus import build_fold
    from koala.training.run import DataSource

    corpus, labels = read_with_labels(folder)
    if fold is not None:
        corpus, labels = build_fold(corpus, *_read_fold(fold)), None
    with show_progress("Retrieving triples") as progress:
        yield DataSource(corpus, labels, progress=progress)


def _read_fold(fold: str) -> tuple[int, int]:
    number, _, total = fold.partition("/")
    if not (number.isdecimal() and total.isdecimal()):
        raise KoalaError(f"--fold is {fold!r}; I/N was expected, such as 1/5 for the first of 5.")
    return int(number), int(total)


@contextmanager
def main_first() -> Iterator[None]:
    """Run a block in the main process first, so that other processes find what it has cached."""
    with needs_training():
        from koala.training.distributed import Processes

        with Processes().main_first():
            yield


def tell(line: str) -> None:
    """Print a message to stderr, in the main process only."""
    if is_main():
        typer.echo(line, err=True)
