"""`koala annotate`: a person goes through the grid of a text and saves it as an example."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.options import EntityOption, FindOption, KnowledgeOption
from koala.cli.output import warn_unnamed, write
from koala.errors import KoalaError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from koala.cli.annotation import Annotation, Question
    from koala.corpora.written import WrittenProcedure
    from koala.document import Procedure
    from koala.grid import Row
    from koala.tracker import Tracker

EXAMPLE = 'Example: koala annotate protocol.txt --entity "sample; lysate" -o wet-lab.txt'

_HELP = """\
Enter  the location is right     LOCATION  the right location, as the text writes it
-      the entity does not exist  ?        it exists, its location is unknown
u      undo                       g        show the grid
w      accept all other cells, write and end
q      quit; the same command continues later
=TEXT  a location that is called like one of these letters
"""


def annotate_cli(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Text to annotate; - is stdin.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File of koala's own corpus format. A procedure with the same title is replaced, "
            "others stay. Default: stdout.",
        ),
    ] = None,
    entity: EntityOption = None,
    find: FindOption = False,
    title: Annotated[
        str, typer.Option(help="Title, or the question that the text answers. Default: FILE.")
    ] = "",
    topic: Annotated[
        str, typer.Option(help="Sub-field, written in square brackets before the title.")
    ] = "own",
    fix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTITY@STEP=LOCATION",
            help="Location that is right, as in water@3=pot; - is absent, ? unknown, step 0 before "
            "the first (repeatable).",
        ),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Ask nothing: accept all cells that are not fixed.")
    ] = False,
    model: Annotated[
        str,
        typer.Option(metavar="MODEL", help="Name of a bundled model, or folder of a model or run."),
    ] = "small",
    knowledge: KnowledgeOption = True,
) -> None:
    """Go through the grid of a text, the least certain cells first, and save it as an example.

    After each correction the rest of the grid is decoded again. The result
    is in the format of koala's own corpus; `koala adapt` learns from it.
    """
    from koala.cli.annotation import apply_fixes
    from koala.files import check_outputs
    from koala.inference.fixes import parse_fix
    from koala.registry import load

    if not accept and str(file) == "-":
        raise KoalaError(
            "The text comes from stdin, so questions cannot be answered there. Give a file, or "
            "--accept with every correction as --fix."
        )
    check_outputs([output], [file])
    fixes = dict(map(parse_fix, fix or ()))
    procedure = _read_procedure(file, title, topic)
    tracker = load(model, has_knowledge=knowledge)
    progress = _name_progress(output)
    annotation = _begin(tracker, procedure, entity, progress, find=find)
    apply_fixes(annotation, fixes)
    if not accept and not ask_all(annotation, lambda: _save_progress(annotation, progress)):
        _stop(annotation, progress)
    _save(annotation, topic, output)
    if progress is not None:
        progress.unlink(missing_ok=True)


def _read_procedure(file: Path, title: str, topic: str) -> "Procedure":
    from koala.document import Procedure
    from koala.document.build import build_steps
    from koala.files import read_text

    name = "text" if str(file) == "-" else os.fsencode(file.stem).decode(errors="replace")
    question = " ".join((title or name).split())
    if not question or not topic.strip() or re.search(r"[\[\]\n]", topic):
        raise KoalaError(
            f"The title is {question!r} and the topic {topic!r}; both need one or more words, and "
            "the topic no brackets."
        )
    steps = build_steps(read_text(file))
    for number, step in enumerate(steps, 1):
        if "|" in step.text:
            raise KoalaError(
                f"Step {number} contains |, which separates cells in the format of the corpus. "
                "Replace it in the text."
            )
    return Procedure(name, steps, question=question)


def _name_progress(output: Path | None) -> Path | None:
    """Name the file that holds an unfinished annotation: beside the output."""
    if output is None or str(output) == "-":
        return None
    return output.with_name(f"{output.name}.unfinished.json")


def _begin(
    tracker: "Tracker",
    procedure: "Procedure",
    names: list[str] | None,
    progress: Path | None,
    *,
    find: bool,
) -> "Annotation":
    """Begin to annotate a procedure, or continue where a person has stopped."""
    from koala.cli.annotation import Annotation, read_progress
    from koala.discovery.add import add_entities
    from koala.document.build import build_entities

    if progress is not None and progress.is_file():
        saved, decisions = read_progress(progress, procedure)
        procedure = replace(procedure, entities=build_entities(saved))
        typer.echo(f"Continuing after {len(decisions)} decisions ({progress}).", err=True)
        return Annotation(tracker, procedure, decisions)
    procedure = replace(procedure, entities=build_entities(names))
    if not names or find:
        procedure = add_entities([procedure])[0]
    if not procedure.entities:
        raise KoalaError("No entities worth tracking were found in the text; name one or more.")
    if bad := next((e.name for e in procedure.entities if "|" in e.name), None):
        raise KoalaError(f"Entity {bad!r} contains |, which separates cells in the format.")
    texts = [step.text for step in procedure.steps]
    warn_unnamed(tracker.find_unmentioned(texts, names) if names else [])
    return Annotation(tracker, procedure)


def ask_all(annotation: "Annotation", save: "Callable[[], None]" = lambda: None) -> bool:
    """Ask about every cell, the least certain first; give False if the person quits.

    `save` is called after every answer.
    """
    _show_grid(annotation)
    typer.echo(_HELP, err=True)
    while (question := annotation.find_question()) is not None:
        typer.echo(_describe(annotation, question), nl=False, err=True)
        try:
            answer = input().strip()
        except (EOFError, KeyboardInterrupt):
            typer.echo(err=True)
            return False
        if answer == "q":
            return False
        if answer == "w":
            break
        _take(annotation, question, answer)
        save()
    return True


def _take(annotation: "Annotation", question: "Question", answer: str) -> None:
    """Act on one answer."""
    if answer == "g":
        _show_grid(annotation)
    elif answer == "u":
        if not annotation.undo():
            typer.echo("Nothing to undo.", err=True)
    elif "|" in answer:
        typer.echo("A location cannot contain |.", err=True)
    else:
        location = answer.removeprefix("=") or question.location
        before = annotation.shown.grid
        try:
            annotation.decide(question.row, question.step, location)
        except KoalaError as error:
            typer.echo(f"{error} Undo another decision (u) first, or answer differently.", err=True)
            return
        changed = _count_changes(before.rows, annotation.shown.grid.rows)
        if changed > 1:
            typer.echo(f"{changed - 1} other cell(s) followed.", err=True)
            _show_grid(annotation)


def _count_changes(before: "Sequence[Row]", after: "Sequence[Row]") -> int:
    pairs = zip(before, after, strict=True)
    return sum(
        a != b for old, new in pairs for a, b in zip(old.locations, new.locations, strict=True)
    )


def _describe(annotation: "Annotation", question: "Question") -> str:
    """Write a question in two lines: the step, then the cell."""
    procedure = annotation.procedure
    name = procedure.entities[question.row].name
    if question.step:
        text = f"{question.step}. {procedure.steps[question.step - 1].text}"
        where = f"{name} after step {question.step}"
    else:
        text = f"(before) 1. {procedure.steps[0].text}"
        where = f"{name} before step 1"
    others = f"; or {', '.join(question.alternatives)}" if question.alternatives else ""
    count = f"{len(annotation.decisions) + 1}/{annotation.n_cells}"
    return f"{text}\n[{count}] {where}: {question.location} ({question.confidence:.0%}{others}): "


def _show_grid(annotation: "Annotation") -> None:
    from rich.console import Console

    from koala.display import render

    console = Console(stderr=True)
    color = console.color_system is not None and not console.no_color
    typer.echo(render(annotation.shown.grid, color=color, width=console.width), err=True)


def _save_progress(annotation: "Annotation", progress: Path | None) -> None:
    from koala.cli.annotation import save_progress

    if progress is not None:
        save_progress(annotation, progress)


def _stop(annotation: "Annotation", progress: Path | None) -> None:
    _save_progress(annotation, progress)
    if progress is None:
        typer.echo("Stopped; nothing is saved. With -o the work could be continued.", err=True)
    else:
        typer.echo(
            f"Stopped; {len(annotation.decisions)} decisions are saved in {progress}. The same "
            "command continues.",
            err=True,
        )
    raise typer.Exit(1)


def _save(annotation: "Annotation", topic: str, output: Path | None) -> None:
    from koala.corpora.written import read_file, write_procedures

    done = _build_written(annotation, topic)
    kept: list[WrittenProcedure] = []
    if output is not None and output.is_file() and output.stat().st_size:
        title = done.example.procedure.question.lower()
        kept = [e for e in read_file(output) if e.example.procedure.question.lower() != title]
    write(write_procedures([*kept, done]), output)


def _build_written(annotation: "Annotation", topic: str) -> "WrittenProcedure":
    from koala.corpora import Example
    from koala.corpora.written import WrittenProcedure

    procedure = annotation.procedure
    example = Example(procedure, annotation.shown.grid)
    return WrittenProcedure("", topic.strip(), example, 1)
