"""`koala predict`: fills a leaderboard template, or tracks procedures of a file."""

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.decoding import DecodingOption
from koala.cli.output import write
from koala.cli.progress import show_progress
from koala.cli.training import tell
from koala.errors import FileError, KoalaError
from koala.files import check_outputs
from koala.registry import DEFAULT, RECIPES, load

if TYPE_CHECKING:
    from koala.document import Procedure


class CorpusName(StrEnum):
    """Whose files are read and written."""

    PROPARA = "propara"
    RECIPES = "recipes"
    WRITTEN = "written"


EXAMPLE = (
    "Example: koala predict --sentences sentences.tsv --template dummy-predictions.tsv "
    "--prompts Paragraphs.csv -o predictions.tsv"
)


def predict_cli(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Predictions: six columns, or JSON lines.")
    ],
    sentences: Annotated[
        Path | None, typer.Option(help="Paragraph, step and sentence, a TSV.")
    ] = None,
    template: Annotated[Path | None, typer.Option(help="The rows to fill, six columns.")] = None,
    input: Annotated[
        Path | None,
        typer.Option(help="In place of both: procedures as JSON lines; entities may be missing."),
    ] = None,
    corpus: Annotated[
        CorpusName,
        typer.Option(
            help="What --input holds: koala's own JSON lines, recipes, or a file or folder of "
            "koala's corpus (written)."
        ),
    ] = CorpusName.PROPARA,
    find: Annotated[
        bool, typer.Option("--find", help="With --input: find entities, whichever are named.")
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A bundled model's name, a folder, or a checkpoint; several are averaged. "
            "Default: small; of recipes: recipes."
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--prompts", help="Paragraphs.csv: prompts help to find triples; some models read them."
        ),
    ] = None,
    decoding: DecodingOption = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            "--draws",
            min=1,
            metavar="N",
            help="With --input: in place of the best grid, N grids sampled from the posterior, for "
            "another network to learn from.",
        ),
    ] = None,
    probabilities: Annotated[
        Path | None, typer.Option(help="Also write the probability of every tag and place, JSONL.")
    ] = None,
) -> None:
    """Predict what happens to every entity of a leaderboard template, or of JSON lines."""
    if input is None and (sentences is None or template is None):
        raise KoalaError("Give --sentences and --template, or --input.")
    if input is not None and (sentences or template or questions):
        raise KoalaError("--input has its own texts; leave out --sentences, --template, --prompts.")
    is_recipes = corpus == CorpusName.RECIPES
    if is_recipes and input is None:
        raise KoalaError("Recipes come with --input: JSON lines in the corpus's own format.")
    if find and (input is None or is_recipes):
        raise KoalaError("--find goes with --input of koala's own formats.")
    if samples is not None and (input is None or is_recipes or decoding or probabilities):
        raise KoalaError(
            "--samples goes with --input of koala's own JSON lines; leave out --decoding and "
            "--probabilities."
        )
    if str(output) == str(probabilities) == "-":
        raise KoalaError("-o and --probabilities cannot both go to stdout; give one a file.")
    check_outputs([output, probabilities], [sentences, template, questions, input])
    if input is not None:
        procedures = read_recipes(input) if is_recipes else read_input(input, corpus, find=find)
    elif sentences and template:
        procedures = read_procedures(sentences, template, questions)
    tracker = load(model or [RECIPES if is_recipes else DEFAULT])
    if samples is not None:
        n_bare = sum(not procedure.entities for procedure in procedures)
        tell(f"{n_bare:,} procedures have no entities, and so nothing to sample.")
        with show_progress("Sampling") as progress:
            grids = tracker.sample_all(procedures, samples, progress=progress)
        write("".join(grid.to_json() + "\n" for grid in grids), output)
        return
    is_scored = template is not None or is_recipes
    if decoding is None and is_scored and "mbr" in tracker.task.decodings:
        decoding = "mbr"
    if decoding is not None:
        tracker = tracker.with_decoding(decoding)
    tell(f"Decoding: {tracker.decoding}.")
    with show_progress("Retrieving triples") as triples, show_progress("Tracking") as progress:
        grids = tracker.track_all(procedures, knowledge_progress=triples, progress=progress)
    if probabilities is not None:
        lines = tracker.find_probabilities(procedures)
        write("".join(json.dumps(line) + "\n" for line in lines), probabilities)
    if template is not None:
        from koala.corpora.leaderboard import fill_template

        write(fill_template(template, {grid.id: grid for grid in grids}), output)
    elif is_recipes:
        from koala.corpora.recipes import write_grids

        # The format has no line for a recipe without ingredients.
        write(write_grids(grid for grid in grids if grid.rows), output)
    else:
        write("".join(grid.to_json() + "\n" for grid in grids), output)


def read_recipes(path: Path) -> "list[Procedure]":
    """Read recipes in the corpus's own format; answers, where there are any, are not looked at."""
    from koala.corpora.recipes import read_examples

    return [example.procedure for example in read_examples(path)]


def read_input(path: Path, corpus: CorpusName, *, find: bool = False) -> "list[Procedure]":
    """Read procedures, and find entities where none are named, or in all of them.

    The titles of koala's own corpus are left out: who brings a text seldom asks its question.
    """
    from koala.corpora import jsonl, written
    from koala.discovery.add import find_missing

    is_written = corpus == CorpusName.WRITTEN
    examples = written.read_examples(path) if is_written else jsonl.read_examples(path)
    procedures = [example.procedure for example in examples]
    if is_written:
        procedures = [replace(procedure, question="") for procedure in procedures]
    if find:
        procedures = [replace(procedure, entities=()) for procedure in procedures]
    n_bare = sum(not procedure.entities for procedure in procedures)
    tell(f"{n_bare:,} of {len(procedures):,} procedures came without entities.")
    return find_missing(procedures)


def read_procedures(sentences: Path, template: Path, questions: Path | None) -> "list[Procedure]":
    """Read the procedures of a template with its entities."""
    from koala.corpora.leaderboard import read_grids, read_sentences
    from koala.corpora.propara import read_questions
    from koala.document import Entity, Procedure, Step

    texts = read_sentences(sentences)
    known = read_questions(questions) if questions else None
    procedures = []
    for grid in read_grids(template, texts).values():
        if known is not None and grid.id not in known:
            raise FileError(str(questions), f"no prompt for paragraph {grid.id}.")
        steps = tuple(Step(text) for text in grid.steps)
        entities = tuple(Entity(name) for name in grid.names)
        question = known[grid.id] if known else ""
        procedures.append(Procedure(grid.id, steps, entities, question, convention="propara"))
    return procedures
