"""`koala calibrate`: the location reranker and the consistency weights of MBR decoding."""

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
            metavar="RUN...",
            help="Runs of trackers; those of `koala ablate --folds` are scored on their own fold.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="File of the calibration, JSON.")],
    data: Data = None,
) -> None:
    """Fit location reranker and consistency weights on texts that the runs never learned from."""
    check_outputs([output])
    with needs_training():
        from koala.corpora import read_corpus
        from koala.training.rerankers import fit_calibration

        corpus = read_corpus(find_corpus(data, "propara"))
        calibration = fit_calibration(runs, corpus, tell=tell)
    write(json.dumps(calibration.to_dict(), indent=2) + "\n", output)
    tell(f"Wrote {output}. `koala export --calibration {output}` puts it into a model.")
