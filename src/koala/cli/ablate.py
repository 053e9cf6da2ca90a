"""`koala ablate`: the rows of a table of the paper, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from koala.cli.corpus import Data, find_corpus, name_folder
from koala.cli.output import is_main, refuse_stdout, write, write_json
from koala.cli.progress import show_progress
from koala.cli.training import needs_training, open_source, tell
from koala.errors import KoalaError

EXAMPLE = (
    "Example: koala ablate configs/paper/propara/table4-minilm.toml --data propara/ -o runs/table4"
)


def ablate_cli(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A table: seeds, and a settings file a row.")
    ],
    data: Data = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder of all runs; default: runs/CONFIG."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Cross-validation: train and dev in N parts, each of which is dev once; "
            "with the table's first seed.",
        ),
    ] = None,
    fold: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            metavar="K",
            help="With --folds: only the K-th part (repeatable); quicker, and says less.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Train every row with every seed; what is finished is not run again, so it can be resumed."""
    refuse_stdout(output, "A folder")
    if fold and max(fold) > (folds or 0):
        raise KoalaError(
            f"--fold {max(fold)} came with {folds or 'no'} --folds. It is the number of a part: "
            "give as many --folds, or a lower --fold."
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

        ablation = read_ablation(config)
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
