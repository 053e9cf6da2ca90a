"""Data on stdout or in a file, talk on stderr."""

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
"""Where launchers say which of several processes this is: torch's, and two of MPI."""


def is_main() -> bool:
    """Tell whether this is the process that talks, where `accelerate launch` has started several.

    Said by the launcher, so that nothing that needs torch is asked.
    """
    return all(os.environ.get(name, "0") == "0" for name in _RANKS)


def refuse_stdout(path: Path | None, what: str) -> None:
    """Refuse `-` as the name of what cannot go through a pipe."""
    if str(path) == "-":
        raise KoalaError(f"{what} cannot go to stdout. Give -o a name.")


def warn_unnamed(names: Sequence[str]) -> None:
    """Warn of entities that the text never names."""
    if names:
        typer.echo(f"Warning: the text never names {', '.join(names)}.", err=True)


@contextmanager
def _printing() -> Iterator[None]:
    """Say in a sentence that stdout is closed or full; a pipe that nobody reads ends quietly."""
    if sys.stdout is None:
        _fail("stdout is closed.")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in it would be tried again at the end.
        sys.stdout = StringIO()
        _fail(f"stdout cannot be written to ({error.strerror}).")


def _fail(problem: str) -> NoReturn:
    typer.echo(f"Error: {problem}", err=True)
    raise typer.Exit(1)


def write(text: str, path: Path | None) -> None:
    """Write data where the user asked for it."""
    if path is None or str(path) == "-":
        with _printing():
            typer.echo(text, nl=not text.endswith("\n"))
        return
    from koala.files import write_text

    write_text(path, text if text.endswith("\n") else text + "\n")
    typer.echo(f"Wrote {path}.", err=True)


def write_json(value: object) -> None:
    """Write a value to stdout as JSON."""
    write(json.dumps(value, ensure_ascii=False, indent=2), None)


def show(*parts: "RenderableType") -> None:
    """Show tables and the like on stdout."""
    from rich.console import Console

    console = Console()
    with _printing():
        for part in parts:
            # A signature is one word: it is never broken, whatever the width.
            console.print(part, markup=False, highlight=False, soft_wrap=isinstance(part, str))


def show_grids(shown: Sequence["Shown"]) -> None:
    """Show grids on stdout, in colour and as wide as the terminal is."""
    from rich.console import Console

    from koala.display import render

    console = Console()
    color = console.color_system is not None and not console.no_color
    write("\n".join(render(each, color=color, width=console.width) for each in shown), None)
