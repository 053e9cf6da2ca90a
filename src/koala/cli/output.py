"""Output: data to stdout or a file, messages to stderr."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from koala.errors import KoalaError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from koala.display import Shown


_RANKS = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK")
"""Environment variables in which launchers (torch, MPICH, Open MPI) give a process its rank."""


def is_main() -> bool:
    """Tell whether this is the main process; only it prints if a launcher has started several.

    Read from the environment, because asking torch would import it.
    """
    return all(os.environ.get(name, "0") == "0" for name in _RANKS)


def refuse_stdout(path: Path | None, what: str) -> None:
    """Refuse `-` as the path of an output that cannot be streamed, such as a folder."""
    if str(path) == "-":
        raise KoalaError(f"{what} cannot go to stdout. Give -o a path.")


def warn_unnamed(names: Sequence[str]) -> None:
    """Warn about entities that the text never names."""
    if names:
        typer.echo(f"Warning: the text never names {', '.join(names)}.", err=True)


@contextmanager
def _printing() -> Iterator[None]:
    """Report a closed or full stdout in one sentence; leave a broken pipe to the caller."""
    if sys.stdout is None:
        _fail("stdout is closed.")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # Otherwise Python would try again to flush the buffered rest at exit.
        sys.stdout = StringIO()
        _fail(f"stdout cannot be written to ({error.strerror}).")


def _fail(problem: str) -> NoReturn:
    typer.echo(f"Error: {problem}", err=True)
    raise typer.Exit(1)


def write(text: str, path: Path | None) -> None:
    """Write text to a file, or to stdout if the path is None or `-`."""
    if path is None or str(path) == "-":
        with _printing():
            typer.echo(text, nl=not text.endswith("\n"))
        return
    from koala.files import write_text

    write_text(path, text if text.endswith("\n") else text + "\n")
    typer.echo(f"Wrote {path}.", err=True)


def write_json(value: object) -> None:
    """Print a value as JSON."""
    write(json.dumps(value, ensure_ascii=False, indent=2), None)


def show(*parts: "RenderableType") -> None:
    """Print tables and sentences to stdout."""
    from rich.console import Console

    console = Console()
    with _printing():
        for part in parts:
            # soft_wrap: a signature is never broken, however narrow the terminal is.
            console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))


def show_grids(shown: Sequence["Shown"]) -> None:
    """Print grids to stdout, as wide as the terminal and in colour if it has colours."""
    from rich.console import Console

    from koala.display import render

    console = Console()
    color = console.color_system is not None and not console.no_color
    write("\n".join(render(each, color=color, width=console.width) for each in shown), None)
