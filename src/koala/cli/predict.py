"""`koala predict`: fills a leaderboard template."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.progress import show_progress
from koala.cli.training import needs_training, tell
from koala.errors import FileError
from koala.files import write_text

if TYPE_CHECKING:
    from koala.batch import Item
    from koala.document import Procedure
    from koala.settings import KnowledgeSettings

EXAMPLE = (
    "Example: koala predict --model runs/koala-minilm-seed0 --sentences sentences.tsv "
    "--template dummy-predictions.tsv -o predictions.tsv"
)


def predict_cli(
    sentences: Annotated[Path, typer.Option(help="Paragraph, step and sentence, a TSV.")],
    template: Annotated[Path, typer.Option(help="The rows to fill, six columns.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Predictions, six columns.")],
    model: Annotated[Path, typer.Option(help="Folder of a run, or a checkpoint.")],
    prompts: Annotated[
        Path | None, typer.Option(help="Paragraphs.csv: prompts help to find triples.")
    ] = None,
    probabilities: Annotated[
        Path | None, typer.Option(help="Also write the probability of every tag and place, JSONL.")
    ] = None,
) -> None:
    """Predict what happens to every entity of a leaderboard template."""
    from koala.corpora.leaderboard import fill_template
    from koala.prediction import predict_grids, predict_probabilities

    procedures = read_procedures(sentences, template, prompts)
    with needs_training():
        from koala.training.checkpoint import open_checkpoint
        from koala.training.loop import build_batcher

        network, settings = open_checkpoint(model)
        batcher = build_batcher(settings)
    items = _build_items(procedures, settings.knowledge)
    with show_progress("Tracking") as progress:
        grids = predict_grids(
            network.predict,
            batcher,
            items,
            settings=settings.decoder,
            progress=progress,
        )
    if probabilities is not None:
        lines = predict_probabilities(network.predict, batcher, items)
        write_text(probabilities, "".join(json.dumps(line) + "\n" for line in lines))
        tell(f"Wrote {probabilities}.")
    write_text(output, fill_template(template, {grid.id: grid for grid in grids}))
    tell(f"Wrote {output}.")


def read_procedures(sentences: Path, template: Path, prompts: Path | None) -> "list[Procedure]":
    """Read the procedures of a template with its entities, annotated."""
    from koala.corpora.leaderboard import read_grids, read_sentences
    from koala.corpora.propara import read_prompts
    from koala.document import Entity, Procedure, Step, annotate

    texts = read_sentences(sentences)
    known = read_prompts(prompts) if prompts else None
    procedures = []
    for grid in read_grids(template, texts).values():
        if known is not None and grid.id not in known:
            raise FileError(str(prompts), f"no prompt for paragraph {grid.id}.")
        steps = tuple(Step(text) for text in grid.steps)
        entities = tuple(Entity(name) for name in grid.names)
        procedures.append(Procedure(grid.id, steps, entities, known[grid.id] if known else ""))
    return annotate(procedures)


def _build_items(procedures: "list[Procedure]", settings: "KnowledgeSettings") -> "list[Item]":
    from koala.batch import build_items
    from koala.prediction import find_triples

    with show_progress("Retrieving triples") as progress:
        triples = find_triples(procedures, settings, progress=progress)
    return build_items(procedures, triples)
