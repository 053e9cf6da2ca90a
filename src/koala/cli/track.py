"""`koala track`: text in, grid out."""

from pathlib import Path
from typing import Annotated

import typer

from koala.cli.output import show_grids, write
from koala.cli.show import GridFormat, convert_grids
from koala.cli.trackers import open_tracker

EXAMPLE = 'Example: koala track procedure.txt --entity water --entity "plant; plants"'


def track_cli(
    file: Annotated[
        Path | None, typer.Argument(help="A text, - is stdin; none: a bundled example.")
    ] = None,
    entity: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="What to track; repeatable; aliases with `;`."),
    ] = None,
    format: Annotated[GridFormat, typer.Option(help="What to write.")] = GridFormat.TABLE,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file.")] = None,
    model: Annotated[str | None, typer.Option(help="A bundled model's name, or a folder.")] = None,
    knowledge: Annotated[
        bool, typer.Option("--knowledge/--no-knowledge", help="Retrieve triples for the entities.")
    ] = True,
) -> None:
    """Track entities through a text: one step a line, or one a sentence if it is one line."""
    from koala.errors import KoalaError
    from koala.examples import read_example
    from koala.files import read_text

    if file is None:
        example = read_example()
        text, names, id = "\n".join(example.steps), entity or list(example.names), example.id
    else:
        text, names = read_text(file), entity or []
        id = "stdin" if str(file) == "-" else file.stem
    if not names:
        raise KoalaError("Which entities? Name each one with --entity.")
    grid = open_tracker(model, has_knowledge=knowledge).track(text, names, id=id)
    if format == GridFormat.TABLE and output is None:
        show_grids([grid])
    else:
        write(convert_grids([grid], format), output)
