"""How every command ends: 0 done, 2 wrong input or call, 1 anything else."""

import os
import sys
from typing import Any

import click
import typer
from typer.core import TyperGroup

from koala.errors import KoalaError


class KoalaGroup(TyperGroup):
    """A group of commands whose user errors are one sentence on stderr, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KoalaError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None
        except BrokenPipeError:
            # `koala … | head` closed the pipe: not an error. Keep the interpreter from flushing.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
