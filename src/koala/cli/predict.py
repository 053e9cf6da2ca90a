"""`koala predict`: fill a leaderboard template, or track the procedures of a file."""

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.options import DecodingOption
from koala.cli.output import write
from koala.cli.progress import show_progress
from koala.cli.training import tell
from koala.errors import FileError, KoalaError
from koala.files import check_outputs

if TYPE_CHECKING:
    from koala.document import Procedure


class CorpusName(StrEnum):
    """Format of the files that are read and written."""

    PROPARA = "propara"
    RECIPES = "recipes"
    WRITTEN = "written"


EXAMPLE = (
    "Example: koala predict --sentences sentences.tsv --template dummy-predictions.tsv "
    "--questions Paragraphs.csv -o predictions.tsv"
)


def predict_cli(
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="Predictions: leaderboard TSV with --template, JSON lines with --input.",
        ),
    ],
    sentences: Annotated[
        Path | None, typer.Option(help="Leaderboard TSV of paragraph, step and sentence.")
    ] = None,
    template: Annotated[
        Path | None, typer.Option(help="Leaderboard TSV of the six-column rows to fill.")
    ] = None,
    input: Annotated[
        Path | None,
        typer.Option(
            help="Instead of --sentences and --template: procedures as JSON lines. Where entities "
            "are missing, they are found."
        ),
    ] = None,
    corpus: Annotated[
        CorpusName,
        typer.Option(
            help="Format of --input: koala's JSON lines (propara), the JSON lines of Recipes "
            "(recipes), or a file or folder of koala's own corpus (written)."
        ),
    ] = CorpusName.PROPARA,
    find: Annotated[
        bool,
        typer.Option("--find", help="With --input: ignore the given entities and find them."),
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Name of a bundled model, folder of an exported model or of a run, or a "
            "checkpoint (repeatable: an ensemble). Default: small; with --corpus recipes: recipes.",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            "--prompts",
            help="ProPara's Paragraphs.csv. The question of each paragraph improves retrieval, and "
            "some models read it.",
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
            help="With --input: instead of the best grid, write N grids sampled from the "
            "posterior, to train another network on.",
        ),
    ] = None,
    probabilities: Annotated[
        Path | None,
        typer.Option(
            help="Also write the probabilities of every tag and location to this file, as JSON "
            "lines."
        ),
    ] = None,
) -> None:
    """Predict the grids of a leaderboard template, or of a file of procedures.

    Without --decoding, templates and recipes are decoded by mbr, which has
    the best expected score, and other input by viterbi.
    """
    from koala import registry

    if input is None and (sentences is None or template is None):
        raise KoalaError("Give --sentences and --template, or --input.")
    if input is not None and (sentences or template or questions):
        raise KoalaError(
            "--input replaces --sentences, --template and --questions. Omit these, or --input."
        )
    is_recipes = corpus == CorpusName.RECIPES
    if is_recipes and input is None:
        raise KoalaError(
            "--corpus recipes needs --input: a file of JSON lines in the format of Recipes."
        )
    if find and (input is None or is_recipes):
        raise KoalaError("--find needs --input and --corpus propara or written.")
    if samples is not None and (input is None or is_recipes or decoding or probabilities):
        raise KoalaError(
            "--samples needs --input and --corpus propara or written, without --decoding and "
            "--probabilities."
        )
    if str(output) == str(probabilities) == "-":
        raise KoalaError("-o and --probabilities cannot both go to stdout; give one a file.")
    check_outputs([output, probabilities], [sentences, template, questions, input])
    if input is not None:
        procedures = read_recipes(input) if is_recipes else read_input(input, corpus, find=find)
    elif sentences and template:
        procedures = read_procedures(sentences, template, questions)
    tracker = registry.load(model or [registry.RECIPES if is_recipes else registry.DEFAULT])
    if samples is not None:
        n_without = sum(not procedure.entities for procedure in procedures)
        tell(f"{n_without:,} procedures have no entities and are skipped.")
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

        # The format of Recipes cannot represent a recipe without ingredients.
        write(write_grids(grid for grid in grids if grid.rows), output)
    else:
        write("".join(grid.to_json() + "\n" for grid in grids), output)


def read_recipes(path: Path) -> "list[Procedure]":
    """Read recipes in the format of the corpus, ignoring their gold grids."""
    from koala.corpora.recipes import read_examples

    return [example.procedure for example in read_examples(path)]


def read_input(path: Path, corpus: CorpusName, *, find: bool = False) -> "list[Procedure]":
    """Read procedures; find entities for those without any, or for all if `find` is set.

    Questions of koala's own corpus are removed, because users seldom give a question.
    """
    from koala.corpora import jsonl, written
    from koala.discovery.add import add_missing_entities

    is_written = corpus == CorpusName.WRITTEN
    examples = written.read_examples(path) if is_written else jsonl.read_examples(path)
    procedures = [example.procedure for example in examples]
    if is_written:
        procedures = [replace(procedure, question="") for procedure in procedures]
    if find:
        procedures = [replace(procedure, entities=()) for procedure in procedures]
    n_without = sum(not procedure.entities for procedure in procedures)
    tell(f"Finding entities for {n_without:,} of {len(procedures):,} procedures.")
    return add_missing_entities(procedures)


def read_procedures(sentences: Path, template: Path, questions: Path | None) -> "list[Procedure]":
    """Read the procedures of a leaderboard template: steps, entities and, if given, questions."""
    from koala.corpora.leaderboard import read_grids, read_sentences
    from koala.corpora.propara import read_questions
    from koala.document import Entity, Procedure, Step

    texts = read_sentences(sentences)
    known = read_questions(questions) if questions else None
    procedures = []
    for grid in read_grids(template, texts).values():
        if known is not None and grid.id not in known:
            raise FileError(str(questions), f"has no question for paragraph {grid.id}.")
        steps = tuple(Step(text) for text in grid.steps)
        entities = tuple(Entity(name) for name in grid.names)
        question = known[grid.id] if known else ""
        procedures.append(Procedure(grid.id, steps, entities, question, convention="propara"))
    return procedures
