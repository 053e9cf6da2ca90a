"""`koala track`: text in, grid out."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from koala.cli.options import (
    DecodingOption,
    EntityOption,
    FindOption,
    KnowledgeOption,
    OutputOption,
)
from koala.cli.output import show_grids, warn_unnamed, write
from koala.cli.show import GridFormat

EXAMPLE = 'Example: koala track procedure.txt --entity water --entity "plant; plants" --explain'


class View(StrEnum):
    """Views of a grid, as in `koala.grid.views`."""

    LOCATIONS = "locations"
    STEPS = "steps"
    TIMELINE = "timeline"
    COMBINATIONS = "combinations"
    RECIPE = "recipe"  # an earlier name of combinations


_FORMATS_WITH_REASONS = (GridFormat.TABLE, GridFormat.JSON, GridFormat.HTML)


def track_cli(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Text to read; - is stdin. Default: a bundled example."
        ),
    ] = None,
    entity: EntityOption = None,
    find: FindOption = False,
    question: Annotated[
        str,
        typer.Option(
            "--question",
            "--prompt",
            help="Question that the text answers; it improves retrieval, and some models read it.",
        ),
    ] = "",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also give the reasons: confidence, runner-up, mention, most attended triples.",
        ),
    ] = False,
    format: Annotated[GridFormat, typer.Option(help="Output format.")] = GridFormat.TABLE,
    output: OutputOption = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Name of a bundled model, or folder of an exported model or of a run (repeatable: "
            "an ensemble). Default: auto, which is recipes for recipes and small for other texts.",
        ),
    ] = None,
    decoding: DecodingOption = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTITY@STEP=LOCATION",
            help="Location that is known to be right, as in water@3=pot; - is absent, ? unknown, "
            "step 0 before the first (repeatable). The rest of the grid follows.",
        ),
    ] = None,
    view: Annotated[
        View | None,
        typer.Option(
            help="Print a view of the grid instead: contents of every location, changes of every "
            "step, timeline of every entity, or what is combined with what in a recipe."
        ),
    ] = None,
    knowledge: KnowledgeOption = True,
) -> None:
    """Track entities through a text and print their grid.

    Each line is a step; in a text of a single line, each sentence is a step.
    """
    from koala.display.marks import grid_of
    from koala.errors import KoalaError
    from koala.files import check_outputs
    from koala.inference.fixes import parse_fixes
    from koala.registry import AUTO, RECIPES, choose_model, load
    from koala.text.language import is_english

    if explain and format not in _FORMATS_WITH_REASONS:
        known = ", ".join(_FORMATS_WITH_REASONS)
        raise KoalaError(
            f"--explain does not work with --format {format}, which cannot hold reasons. Formats "
            f"that can: {known}."
        )
    if explain and view:
        raise KoalaError("--explain and --view cannot be combined: a view has no reasons.")
    models = model or [AUTO]
    if AUTO in models and len(models) > 1:
        raise KoalaError("--model auto chooses one model by the text; omit the other --model.")
    check_outputs([output], [file])
    text, id = _read(file)
    if not is_english(text):
        typer.echo("Warning: this does not look like English; koala reads English only.", err=True)
    if AUTO in models:
        models = [choose_model(text)]
        if models[0] == RECIPES:
            typer.echo(
                "The text looks like a recipe, so the model is recipes. Use --model small to "
                "track it like any other text.",
                err=True,
            )
    tracker = load(models, has_knowledge=knowledge)
    if decoding is not None:
        tracker = tracker.with_decoding(decoding)
    warn_unnamed(tracker.find_unmentioned(text, entity) if entity else [])
    track = tracker.explain if explain else tracker.track
    fixed = parse_fixes(fix or ())
    shown = track(text, entity or None, find=find, id=id, question=question, fixed=fixed)
    if view is not None:
        from koala.display.views import convert_view

        write(convert_view([grid_of(shown)], view.value, format.value), output)
    elif format == GridFormat.TABLE and output is None:
        show_grids([shown])
    else:
        from koala.display import convert

        write(convert([shown], format.value), output)


def _read(file: Path | None) -> tuple[str, str]:
    """Give a text and its id: the name of the file, "stdin" or that of the bundled example."""
    from koala.bundled.examples import read_example
    from koala.files import read_text

    if file is None:
        example = read_example()
        return "\n".join(example.steps), example.id
    # A file name can be any bytes, but the id is written as UTF-8.
    name = os.fsencode(file.stem).decode(errors="replace")
    return read_text(file), "stdin" if str(file) == "-" else name
