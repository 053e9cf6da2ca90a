"""`koala adapt`: fine-tune the heads of a model on corrected procedures."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.options import JsonOption
from koala.cli.output import refuse_stdout, show, write_json
from koala.cli.progress import show_progress
from koala.cli.training import needs_training, tell
from koala.errors import FileError, KoalaError

if TYPE_CHECKING:
    from rich.table import Table

    from koala.corpora import Corpus, Example
    from koala.training.adaptation import Adapted, Comparison

EXAMPLE = "Example: koala adapt wet-lab.txt -o my-model --rehearse corpus/"


def adapt_cli(
    corrections: Annotated[
        list[Path],
        typer.Argument(
            metavar="CORRECTIONS",
            help="Files of `koala annotate`, or folders of them, in the format of koala's own "
            "corpus.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the model to write.")],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="MODEL",
            help="Bundled model, folder of a model, or run to start from.",
        ),
    ] = "small",
    rehearse: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Corpus that the model has learned from, rehearsed so that it is not forgotten "
            "(repeatable). Default: koala's own corpus, if corpus/ is here or in KOALA_DATA.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the model; default: the name of the folder."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of training.")] = 8,
    rate: Annotated[float, typer.Option(help="Learning rate of the heads.")] = 3e-4,
    share: Annotated[
        float, typer.Option(min=0, help="Rehearsed entities for each corrected one.")
    ] = 2.0,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 4,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Save the model even if it is not better.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Fine-tune the heads of a model on corrected procedures and export the result.

    Cross-validation over the corrections tells how much better the model
    is on procedures that it did not learn from; a worse one is not saved.
    """
    refuse_stdout(output, "A folder")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise FileError(output, "exists already. Choose another folder.")
    examples = read_corrections(corrections)
    corpora = _find_rehearsal(rehearse)
    with needs_training():
        from koala.registry import find_bundled
        from koala.training.adaptable import find_adaptable, save_adapted
        from koala.training.adaptation import Adaptation, AdaptationSettings, choose_rehearsal

        how = AdaptationSettings(
            epochs=epochs, learning_rate=rate, rehearsed=share, folds=folds, seed=seed
        )
        path = find_bundled(source) or Path(source)
        if not path.exists():
            raise KoalaError(f"--from {source}: neither a bundled model nor a folder of one.")
        start = find_adaptable(path)
        chosen = choose_rehearsal(examples, corpora, seed=seed)
        tell(
            f"Adapting {start.name} to {len(examples)} procedures; rehearsing "
            f"{len(chosen.rehearsed)}."
        )
        with show_progress("Retrieving triples") as progress:
            adaptation = Adaptation(
                start.settings, start.calibration, chosen, how=how, progress=progress
            )
        models = start.open(adaptation.batcher, adaptation.data.train)
        with tempfile.TemporaryDirectory(prefix="koala-") as work:
            adapted = adaptation.run(models, Path(work), tell=tell)
        _report(adapted, as_json=as_json)
        if adapted.problem and not force:
            raise KoalaError(
                f"The adapted model is not saved: {adapted.problem}. Correct more procedures, "
                "change --epochs, --rate or --share, or save it with --force."
            )
        save_adapted(adapted, start, adaptation, output, name or output.name)
    tell(f"Wrote {output}. Use it with --model {output}.")


def read_corrections(paths: list[Path]) -> "list[Example]":
    """Read corrected procedures from files and folders."""
    from koala.corpora.written import read_examples

    found = [example for path in paths for example in read_examples(path)]
    if not found:
        raise KoalaError("There are no corrected procedures in the given files.")
    return found


def _find_rehearsal(given: list[Path] | None) -> "list[Corpus]":
    """Read the corpora to rehearse; without koala's own corpus, the bundled examples."""
    from koala.corpora import Corpus, Example, read_corpus, written

    if given:
        return [read_corpus(folder) for folder in given]
    places = [Path("corpus"), Path(__file__).parents[3] / "corpus"]
    if root := os.environ.get("KOALA_DATA"):
        places.insert(1, Path(root, "corpus"))
    found = next((place for place in places if written.is_here(place)), None)
    if found is not None:
        return [written.read(found)]
    from koala.bundled.examples import list_examples, read_example
    from koala.document import Entity, Procedure, Step

    grids = [read_example(each) for each in list_examples()]
    tell(
        f"Warning: koala's own corpus is not at hand, so only the {len(grids)} bundled examples "
        "are rehearsed, and nothing tells what the model forgets. Give the corpus with --rehearse."
    )
    examples = [
        Example(Procedure(g.id, tuple(map(Step, g.steps)), tuple(map(Entity, g.names))), g)
        for g in grids
    ]
    return [Corpus("bundled", {"train": tuple(examples)})]


def _report(adapted: "Adapted", *, as_json: bool) -> None:
    if as_json:
        write_json({**adapted.to_dict(), "problem": adapted.problem})
        return
    parts = [
        (title, comparison)
        for title, comparison in (
            ("Corrected procedures that were left out of training", adapted.held_out),
            ("Rehearsed corpus, dev", adapted.rehearsed),
        )
        if comparison is not None
    ]
    show(*(build_table(*part) for part in parts), f"{adapted.seconds:.0f} s")


def build_table(title: str, comparison: "Comparison") -> "Table":
    """Build the table of a network before and after adapting."""
    from rich.table import Table

    table = Table(title=f"{title} ({comparison.before.procedures})")
    table.add_column("")
    columns = ("changes F1", "with location F1", "cells", "NLL")
    for column in columns:
        table.add_column(column, justify="right")
    for label, each in (("before", comparison.before), ("after", comparison.after)):
        values = (each.changes, each.located, each.cells, each.nll)
        table.add_row(label, *(f"{value:.3f}" for value in values))
    return table
