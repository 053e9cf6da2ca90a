"""The command line: one file a command, each thin over plain functions."""

from typing import Annotated

import typer

import koala
from koala.cli import data, evaluate, show
from koala.cli.group import KoalaGroup

app = typer.Typer(
    cls=KoalaGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: koala evaluate predictions.tsv --gold answers.tsv",
)
app.command("evaluate", epilog=evaluate.EXAMPLE)(evaluate.evaluate_cli)
app.command("show", epilog=show.EXAMPLE)(show.show_cli)
app.add_typer(data.app, name="data")


@app.callback()
def _koala(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Track the entities of a procedure: do they exist, what happens to them, where are they."""
    if version:
        typer.echo(koala.__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    app()
