"""`koala train-discovery`: train the model that finds the entities worth tracking in a text."""

from pathlib import Path
from typing import Annotated

import typer

from koala.cli.corpus import Data, find_corpus
from koala.cli.options import JsonOption
from koala.cli.output import show, write_json
from koala.cli.training import needs_training, tell

EXAMPLE = (
    "Example: koala train-discovery --data propara/ --recipes recipes/ --written corpus/ "
    "-o weights.json"
)


def train_discovery_cli(
    output: Annotated[Path, typer.Option("-o", "--output", help="Weights file to write (JSON).")],
    data: Data = None,
    recipes: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of Recipes; default: $KOALA_DATA/recipes."),
    ] = None,
    written: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of koala's own corpus.")
    ] = Path("corpus"),
    as_json: JsonOption = False,
) -> None:
    """Train entity discovery on the annotated entities of the train splits, and score it on dev.

    Training is deterministic: the same data give the same file.
    """
    from rich.table import Table

    from koala.corpora import read_corpus
    from koala.encoders import open_encoder

    with needs_training():
        from koala.training.discovery import DiscoverySettings, train_ranker

    corpora = [read_corpus(find_corpus(data, "propara")), read_corpus(written)]
    extra = read_corpus(find_corpus(recipes, "recipes"))
    learned = train_ranker(
        [example.procedure for corpus in corpora for example in corpus.take("train")],
        {c.name: [example.procedure for example in c.take("dev")] for c in corpora},
        [example.procedure for example in extra.take("train")],
        # One thread: the order of floating-point sums is fixed, and with it the file.
        encoder=open_encoder(threads=1),
        settings=DiscoverySettings(),
    )
    learned.ranker.write(output)
    tell(f"Wrote {output}.")
    rows = {"train, cross-validated": learned.train}
    rows |= {f"{name}, dev": scores for name, scores in learned.dev.items()}
    if as_json:
        write_json(
            {name: {**each.to_dict(), "signature": each.signature} for name, each in rows.items()}
        )
        return
    table = Table(title="Entity discovery, matched by head nouns")
    table.add_column("")
    for column in ("precision", "recall", "F1"):
        table.add_column(column, justify="right")
    for name, each in rows.items():
        table.add_row(name, *(f"{value:.3f}" for value in each.score.to_dict().values()))
    show(table, *(each.signature for each in rows.values()))
