"""`koala encoders`: list and download public encoder weights."""

from typing import Annotated

import typer

from koala.cli.options import JsonOption
from koala.cli.output import show, write, write_json

app = typer.Typer(
    no_args_is_help=True,
    help="List and download public encoder weights.",
    rich_markup_mode="rich",
    epilog="Example: koala encoders fetch minilm",
)


@app.command("list", epilog="Example: koala encoders list --json")
def list_cli(
    as_json: JsonOption = False,
) -> None:
    """List the encoders that can be fetched, and whether they are in the cache."""
    from rich.table import Table

    from koala.encoders.weights import SOURCES, is_fetched

    if as_json:
        write_json(
            [
                {"name": s.name, "fetched": is_fetched(s.name), "description": s.description}
                for s in SOURCES.values()
            ]
        )
        return
    table = Table()
    for name in ("name", "fetched", "description"):
        table.add_column(name)
    for source in SOURCES.values():
        table.add_row(source.name, "yes" if is_fetched(source.name) else "no", source.description)
    show(table)


@app.command("fetch", epilog="Example: koala encoders fetch mpnet")
def fetch_cli(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="minilm or mpnet; see koala encoders list.")
    ],
) -> None:
    """Download public weights into the cache, verify their checksum and print their folder."""
    from koala.encoders.weights import fetch_weights

    folder = fetch_weights(name, tell=lambda line: typer.echo(line, err=True))
    write(str(folder), None)
