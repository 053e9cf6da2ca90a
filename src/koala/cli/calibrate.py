"""`koala calibrate`: fit the location reranker and the consistency weights of MBR decoding."""

import json
from pathlib import Path
from typing import Annotated

import typer

from koala.cli.corpus import Data, find_corpus
from koala.cli.output import write
from koala.cli.training import needs_training, tell
from koala.files import check_outputs

EXAMPLE = (
    "Example: koala calibrate runs/folds/*-fold?of3 --data propara/ "
    "-o configs/models/calibration.json"
)


def calibrate_cli(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Folders of trained runs. Each run of `koala ablate --folds` is scored on the "
            "fold that it was not trained on.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Calibration file to write (JSON).")
    ],
    data: Data = None,
) -> None:
    """Fit location reranker and consistency weights on texts that the runs were not trained on."""
    check_outputs([output])
    with needs_training():
        from koala.corpora import read_corpus
        from koala.training.rerankers import fit_calibration

        corpus = read_corpus(find_corpus(data, "propara"))
        calibration = fit_calibration(runs, corpus, tell=tell)
    write(json.dumps(calibration.to_dict(), indent=2) + "\n", output)
    tell(f"Wrote {output}. Use it in a model with `koala export --calibration {output}`.")
