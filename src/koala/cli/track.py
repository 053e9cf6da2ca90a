"""`koala track`: text in, grid out."""

import os
from pathlib import Path
from typing import Annotated

import typer

from koala.cli.decoding import DecodingOption
from koala.cli.output import show_grids, warn_unnamed, write
from koala.cli.show import GridFormat

EXAMPLE = 'Example: koala track procedure.txt --entity water --entity "plant; plants" --explain'
_TELLS_REASONS = (GridFormat.TABLE, GridFormat.JSON, GridFormat.HTML)


def track_cli(
    file: Annotated[
        Path | None, typer.Argument(help="A text, - is stdin; none: a bundled example.")
    ] = None,
    entity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What to track; repeatable; aliases with `;`. None: found in the text.",
        ),
    ] = None,
    find: Annotated[bool, typer.Option("--find", help="Find more beside each --entity.")] = False,
    question: Annotated[
        str, typer.Option("--question", "--prompt", help="The question that the text answers.")
    ] = "",
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say why: confidence, runner-up, sentence, triples."),
    ] = False,
    format: Annotated[GridFormat, typer.Option(help="What to write.")] = GridFormat.TABLE,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A bundled model's name, or a folder; several are averaged. Default: auto, which "
            "is recipes if the text is a recipe, else small."
        ),
    ] = None,
    decoding: DecodingOption = None,
    knowledge: Annotated[
        bool, typer.Option("--knowledge/--no-knowledge", help="Retrieve triples for the entities.")
    ] = True,
) -> None:
    """Track entities through a text: one step a line, or one a sentence if it is one line."""
    from koala.errors import KoalaError
    from koala.files import check_outputs
    from koala.registry import AUTO, RECIPES, choose_model, load
    from koala.text.language import is_english

    if explain and format not in _TELLS_REASONS:
        known = ", ".join(_TELLS_REASONS)
        raise KoalaError(f"--explain: {format} has no room for reasons. Formats that do: {known}.")
    models = model or [AUTO]
    if AUTO in models and len(models) > 1:
        raise KoalaError("--model auto chooses one model by the text; leave out the others.")
    check_outputs([output], [file])
    text, id = _read(file)
    if not is_english(text):
        typer.echo("Warning: this does not look like English; koala reads English only.", err=True)
    if AUTO in models:
        models = [choose_model(text)]
        if models[0] == RECIPES:
            typer.echo("Read as a recipe; --model small reads it as any other text.", err=True)
    tracker = load(models, has_knowledge=knowledge)
    if decoding is not None:
        tracker = tracker.with_decoding(decoding)
    warn_unnamed(tracker.find_unnamed(text, entity) if entity else [])
    track = tracker.explain if explain else tracker.track
    shown = track(text, entity or None, find=find, id=id, question=question)
    if format == GridFormat.TABLE and output is None:
        show_grids([shown])
    else:
        from koala.display import convert

        write(convert([shown], format.value), output)


def _read(file: Path | None) -> tuple[str, str]:
    """Give a text and what to call it."""
    from koala.bundled.examples import read_example
    from koala.files import read_text

    if file is None:
        example = read_example()
        return "\n".join(example.steps), example.id
    # A file's name may be any bytes; what is written is UTF-8.
    name = os.fsencode(file.stem).decode(errors="replace")
    return read_text(file), "stdin" if str(file) == "-" else name
