"""`koala show`: display or convert grids, gold or predicted, koala's or another system's."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.options import OutputOption
from koala.cli.output import show_grids, write
from koala.errors import KoalaError
from koala.files import check_outputs

if TYPE_CHECKING:
    from koala.grid import Grid

EXAMPLE = "Example: koala show answers.tsv --sentences sentences.tsv --id 4"


class GridFormat(StrEnum):
    """Output format of a grid."""

    TABLE = "table"
    JSON = "json"
    TSV = "tsv"
    CSV = "csv"
    HTML = "html"
    MERMAID = "mermaid"
    DOT = "dot"


def show_cli(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Grids: leaderboard TSV, Recipes JSON lines or koala's JSON lines; - is stdin. "
            "Default: a bundled example.",
        ),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(help="With a leaderboard TSV: the sentences.tsv that holds the texts."),
    ] = None,
    id: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Show only the procedure with this id (repeatable)."),
    ] = None,
    format: Annotated[GridFormat, typer.Option(help="Output format.")] = GridFormat.TABLE,
    output: OutputOption = None,
) -> None:
    """Display grids in the terminal, or convert them to another format."""
    check_outputs([output], [file, sentences])
    grids = select_grids(_read(file, sentences), id or ())
    if format == GridFormat.TABLE and output is None:
        show_grids(grids)
    else:
        from koala.display import convert

        write(convert(grids, format.value), output)


def _read(file: Path | None, sentences: Path | None) -> list["Grid"]:
    from koala.bundled.examples import read_example
    from koala.corpora.formats import read_any_grids
    from koala.corpora.leaderboard import read_sentences

    if file is None:
        if sentences:
            raise KoalaError("--sentences needs a leaderboard file, but no FILE was given.")
        return [read_example()]
    texts = read_sentences(sentences) if sentences else None
    return list(read_any_grids(file, texts).values())


def select_grids(grids: Sequence["Grid"], ids: Sequence[str]) -> list["Grid"]:
    """Give the grids with these ids, in the order of `ids`; all grids if there are none."""
    known = {grid.id: grid for grid in grids}
    for id in ids:
        if id not in known:
            some = ", ".join(list(known)[:8]) + (", …" if len(known) > 8 else "")
            raise KoalaError(f"The file has no procedure {id!r}. It has: {some}.")
    return [known[id] for id in ids] or list(grids)
