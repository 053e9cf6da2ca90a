"""`koala train`: train a tracker from a settings file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.corpus import Data, find_corpus, name_folder
from koala.cli.options import JsonOption
from koala.cli.output import is_main, show, write_json
from koala.cli.progress import show_progress
from koala.cli.training import needs_training, open_source, tell

if TYPE_CHECKING:
    from rich.table import Table

    from koala.training.report import RunReport

EXAMPLE = "Example: koala train configs/paper/propara/koala-minilm.toml --data propara/ --seed 1"


def train_cli(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Settings file (TOML).")],
    data: Data = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Override the seed of the settings.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Start from the weights of this run; overrides training.start of the settings.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder of the run; default: runs/CONFIG-seedN."),
    ] = None,
    fold: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Cross-validation: split train and dev into N folds and use fold I as dev.",
        ),
    ] = None,
    without_field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Leave a field of koala's own corpus out of training, such as wet-lab "
            "(repeatable); overrides training.without_fields of the settings.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run in its folder.")
    ] = False,
    until: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="EPOCH",
            help="Stop after this epoch; --resume continues with the same learning rates.",
        ),
    ] = None,
    layers: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Cache the outputs of the frozen encoder here, for this and other runs (2 MB per "
            "text with MPNet).",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train a tracker and print its scores on dev.

    The setting training.selection decides which epoch is saved and scored:
    the one with the best dev F1 by Viterbi or by MBR decoding, or the last.
    """
    from koala.settings import read_settings

    settings = read_settings(config)
    if seed is not None:
        settings = replace(settings, training=replace(settings.training, seed=seed))
    if start is not None:
        settings = replace(settings, training=replace(settings.training, start=str(start)))
    if without_field:
        fields = " ".join(without_field)
        settings = replace(settings, training=replace(settings.training, without_fields=fields))
    suffix = f"-fold{fold.replace('/', 'of')}" if fold else ""
    folder = output or name_folder(config, settings.corpus)
    if output is None:
        folder = folder.with_name(f"{folder.name}-seed{settings.training.seed}{suffix}")
    with needs_training():
        from koala.training.run import check_folder, train

        # Report problems with the folder before the corpus is read.
        check_folder(folder, settings, resume=resume)
        with (
            open_source(find_corpus(data, settings.corpus), fold) as source,
            show_progress("Epoch") as batches,
        ):
            report = train(
                settings,
                source,
                folder,
                resume=resume,
                layers_folder=layers,
                until=until,
                tell=tell,
                show_batches=batches,
            )
    tell(f"Wrote {folder}.")
    if not is_main():
        return
    if as_json:
        from dataclasses import asdict

        write_json(asdict(report))
    else:
        show(build_table(report), report.signature)


def build_table(report: "RunReport") -> "Table":
    """Build the table of the dev scores of the saved epoch."""
    from rich.table import Table

    table = Table(title=f"Dev, epoch {report.epoch}, seed {report.seed}")
    categories = [name for name in ("Cat-1", "Cat-2", "Cat-3") if name in report.sentence]
    mbr = [f"{report.mbr['f1']:.3f}"] if report.mbr else []
    columns = ["precision", "recall", "F1", *(["F1, MBR"] if mbr else []), *categories]
    for name in columns:
        table.add_column(name, justify="right")
    overall = report.document["overall"]
    table.add_row(
        *(f"{overall[name]:.3f}" for name in ("precision", "recall", "f1")),
        *mbr,
        *(f"{report.sentence[name]:.2f}" for name in categories),
    )
    return table
