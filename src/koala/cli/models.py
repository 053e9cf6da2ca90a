"""`koala models` and `koala export`: models that run without torch."""

from pathlib import Path
from typing import Annotated

import typer

from koala.cli.corpus import Data, find_corpus
from koala.cli.options import JsonOption
from koala.cli.output import refuse_stdout, show, write_json
from koala.cli.training import needs_training, open_source, tell
from koala.errors import KoalaError

EXPORT_EXAMPLE = "Example: koala export runs/koala-small-seed0 -o my-model --data propara/"
MODELS_EXAMPLE = "Example: koala models --json"


def models_cli(
    as_json: JsonOption = False,
) -> None:
    """List the bundled models: name, size (including a shared encoder), dev scores, signature."""
    from rich.table import Table

    from koala.network.card import MBR, measure_size, read_card
    from koala.registry import list_models

    folders = list_models()
    cards = {name: read_card(folder) for name, folder in folders.items()}
    sizes = {name: measure_size(folder) / 1e6 for name, folder in folders.items()}
    if as_json:
        write_json(
            [
                {
                    "name": name,
                    "size_mb": round(sizes[name], 1),
                    "measured_on": card.read_settings().corpus,
                    "scores": card.scores,
                    "signature": card.signature,
                }
                for name, card in cards.items()
            ]
        )
        return
    table = Table(title="Bundled models")
    for column in ("name", "MB", "measured on", "dev P", "dev R", "dev F1", "dev F1, MBR"):
        is_number = column == "MB" or column.startswith("dev")
        table.add_column(column, justify="right" if is_number else "left")
    for name, card in cards.items():
        scores = [f"{card.scores[each]:.3f}" for each in ("precision", "recall", "f1")]
        mbr = card.scores.get(MBR)
        scores.append(f"{mbr['f1']:.3f}" if mbr else "")
        table.add_row(name, f"{sizes[name]:.1f}", card.read_settings().corpus, *scores)
    show(table, *(card.signature for card in cards.values()))


def export_cli(
    checkpoints: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Folder of a run, or a checkpoint. Several that share a frozen encoder become one "
            "model with averaged heads.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the model to write.")],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the model; default: the name of the folder."),
    ] = None,
    without_public: Annotated[
        bool,
        typer.Option(
            "--without-public",
            help="Leave out weights that equal the public encoder's; the model then needs `koala "
            "encoders fetch`.",
        ),
    ] = False,
    encoder: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Leave out the same weights, but read them from this file, which several models "
            "can share; it is written if it is missing.",
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Location reranker and consistency weights, from `koala calibrate`.",
        ),
    ] = None,
    data: Data = None,
    written: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of koala's own corpus; temperatures for its annotation convention are "
            "fitted on its dev split.",
        ),
    ] = None,
) -> None:
    """Export a trained tracker to a folder that runs without torch.

    Temperatures are fitted, and the exported model is scored, on dev.
    """
    refuse_stdout(output, "A folder")
    if encoder is not None and without_public:
        raise KoalaError(
            "--without-public and --encoder exclude each other: the weights are read either from "
            "the public encoder or from a file. Give one of them."
        )
    with needs_training():
        from koala.corpora import read_corpus
        from koala.inference.calibration import read_calibration
        from koala.training.checkpoint import read_checkpoint_settings
        from koala.training.export.release import release

        first = checkpoints[0]
        settings, _ = read_checkpoint_settings(
            first / "best.safetensors" if first.is_dir() else first
        )
        with open_source(find_corpus(data, settings.corpus)) as source:
            card = release(
                checkpoints,
                source,
                output,
                name or output.name,
                leaves_out_public=without_public,
                encoder=encoder,
                written=read_corpus(written) if written else None,
                calibration=read_calibration(calibration) if calibration else None,
            )
    tell(f"Wrote {output}.")
    write_json({"signature": card.signature, "scores": card.scores})
