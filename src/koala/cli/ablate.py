"""`koala ablate`: train the rows of one of the paper's tables and compare them."""

from pathlib import Path
from typing import Annotated

import typer

from koala.cli.corpus import Data, find_corpus, name_folder
from koala.cli.options import JsonOption
from koala.cli.output import is_main, refuse_stdout, write, write_json
from koala.cli.progress import show_progress
from koala.cli.training import needs_training, open_source, tell
from koala.errors import KoalaError

EXAMPLE = (
    "Example: koala ablate configs/paper/propara/table4-minilm.toml --data propara/ -o runs/table4"
)


def ablate_cli(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG", help="Table file (TOML): seeds, and one settings file per row."
        ),
    ],
    data: Data = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for all runs; default: runs/CONFIG."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Cross-validation: split train and dev into N folds and use each as dev once, "
            "with the table's first seed.",
        ),
    ] = None,
    fold: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            metavar="K",
            help="With --folds: run only the K-th fold (repeatable). Faster, but less conclusive.",
        ),
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Run only this row of the table (repeatable), such as 'KoaLa'.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train every row of a table with every seed, and print the scores on dev.

    Finished runs are not repeated: after an interruption, run the same
    command again.
    """
    refuse_stdout(output, "A folder")
    if fold and max(fold) > (folds or 0):
        given = f"--folds is {folds}" if folds else "--folds is missing"
        raise KoalaError(
            f"--fold {max(fold)} was given, but {given}. Give --folds N, and --fold from 1 to N."
        )
    with needs_training():
        from koala.training.cross_validation import (
            Folds,
            list_folds,
            render_folds,
            run_folds,
            write_folds,
        )
        from koala.training.sweep import (
            find_corpus_name,
            list_results,
            read_ablation,
            render_table,
            run_ablation,
            write_ablation,
        )

        ablation = read_ablation(config).choose(row or [])
        corpus = find_corpus_name(ablation)
        folder = output or name_folder(config, corpus)
        with open_source(find_corpus(data, corpus)) as source, show_progress("Epoch") as batches:
            if folds is None:
                results = run_ablation(ablation, source, folder, tell=tell, show_batches=batches)
            else:
                parts = Folds(folds, tuple(fold or ()))
                rows = run_folds(
                    ablation, source, folder, folds=parts, tell=tell, show_batches=batches
                )
            if not is_main():
                return
            if folds is None:
                write_ablation(ablation, results, source, folder)
                table, values = render_table(ablation, results), list_results(results)
            else:
                write_folds(ablation, rows, parts, folder)
                table, values = render_folds(ablation, rows, parts), list_folds(rows)
    tell(f"Wrote {folder}.")
    if as_json:
        write_json(values)
    else:
        write(table, None)
