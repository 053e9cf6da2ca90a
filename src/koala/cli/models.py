"""`koala models` and `koala export`: networks that run without torch."""

from pathlib import Path
from typing import Annotated

import typer

from koala.cli.corpus import Data, find_corpus
from koala.cli.output import refuse_stdout, show, write_json
from koala.cli.training import needs_training, open_source, tell
from koala.errors import KoalaError

EXPORT_EXAMPLE = "Example: koala export runs/koala-small-seed0 -o my-model --data propara/"
MODELS_EXAMPLE = "Example: koala models --json"


def models_cli(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the bundled networks: name, size (with a shared encoder), scores, signature."""
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
            metavar="RUN...",
            help="Folder of a run, or a checkpoint; several over one frozen encoder are averaged.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the network.")],
    name: Annotated[str | None, typer.Option(help="Its name; default: the folder's.")] = None,
    without_public: Annotated[
        bool,
        typer.Option(
            "--without-public", help="Leave out what is in the public encoder; it is read there."
        ),
    ] = False,
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="Leave it out, too, but read it from this file, for several networks that lie "
            "beside it; made where it is missing."
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Location reranker and consistency weights, as `koala calibrate` writes them.",
        ),
    ] = None,
    data: Data = None,
    written: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="koala's own corpus, whose dev split sets temperatures, too."
        ),
    ] = None,
) -> None:
    """Write a trained tracker as a network that runs without torch; dev sets its temperatures."""
    refuse_stdout(output, "A folder")
    if encoder is not None and without_public:
        raise KoalaError("--without-public and --encoder: the encoder is read from one place.")
    with needs_training():
        from koala.corpora import read_corpus
        from koala.inference.calibration import read_calibration
        from koala.training.checkpoint import read_settings_of
        from koala.training.export.release import release

        first = checkpoints[0]
        settings, _ = read_settings_of(first / "best.safetensors" if first.is_dir() else first)
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
