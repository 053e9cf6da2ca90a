"""`koala interpolate`: average the weights of two stages of training."""

from pathlib import Path
from typing import Annotated

import typer

from koala.cli.training import needs_training, tell

EXAMPLE = "Example: koala interpolate runs/small-corpus runs/small-propara -o runs/small"


def interpolate_cli(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Run of the first stage.")],
    second: Annotated[
        Path, typer.Argument(metavar="SECOND", help="Run that started from the first one.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the run to write.")],
    share: Annotated[
        float, typer.Option(help="Share of the second run in the weights, from 0 to 1.")
    ] = 0.5,
) -> None:
    """Average the weights of two stages of training.

    The result has the settings of the second run. It forgets less of the
    first stage than the second run does.
    """
    with needs_training():
        from koala.training.interpolation import interpolate_runs
    tell(f"Wrote {interpolate_runs(first, second, output, share=share)}.")
