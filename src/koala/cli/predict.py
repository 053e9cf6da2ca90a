"""`koala predict`: fills a leaderboard template."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.progress import show_progress
from koala.cli.trackers import open_trackers
from koala.cli.training import tell
from koala.errors import FileError
from koala.files import write_text

if TYPE_CHECKING:
    from koala.document import Procedure

EXAMPLE = (
    "Example: koala predict --sentences sentences.tsv --template dummy-predictions.tsv "
    "--prompts Paragraphs.csv -o predictions.tsv"
)


def predict_cli(
    sentences: Annotated[Path, typer.Option(help="Paragraph, step and sentence, a TSV.")],
    template: Annotated[Path, typer.Option(help="The rows to fill, six columns.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Predictions, six columns.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A bundled model's name, a folder, or a checkpoint; several are averaged."
        ),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="Paragraphs.csv: prompts help to find triples.")
    ] = None,
    probabilities: Annotated[
        Path | None, typer.Option(help="Also write the probability of every tag and place, JSONL.")
    ] = None,
) -> None:
    """Predict what happens to every entity of a leaderboard template."""
    from koala.corpora.leaderboard import fill_template

    procedures = read_procedures(sentences, template, prompts)
    tracker = open_trackers(model or [])
    with show_progress("Retrieving triples") as triples, show_progress("Tracking") as progress:
        grids = tracker.track_all(procedures, knowledge_progress=triples, progress=progress)
    if probabilities is not None:
        lines = tracker.find_probabilities(procedures)
        write_text(probabilities, "".join(json.dumps(line) + "\n" for line in lines))
        tell(f"Wrote {probabilities}.")
    write_text(output, fill_template(template, {grid.id: grid for grid in grids}))
    tell(f"Wrote {output}.")


def read_procedures(sentences: Path, template: Path, prompts: Path | None) -> "list[Procedure]":
    """Read the procedures of a template with its entities."""
    from koala.corpora.leaderboard import read_grids, read_sentences
    from koala.corpora.propara import read_prompts
    from koala.document import Entity, Procedure, Step

    texts = read_sentences(sentences)
    known = read_prompts(prompts) if prompts else None
    procedures = []
    for grid in read_grids(template, texts).values():
        if known is not None and grid.id not in known:
            raise FileError(str(prompts), f"no prompt for paragraph {grid.id}.")
        steps = tuple(Step(text) for text in grid.steps)
        entities = tuple(Entity(name) for name in grid.names)
        procedures.append(Procedure(grid.id, steps, entities, known[grid.id] if known else ""))
    return procedures
