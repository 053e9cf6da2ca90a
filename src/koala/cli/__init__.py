"""The command line: one file a command, each thin over plain functions."""

import io
import sys
from typing import Annotated

import typer

import koala
from koala.cli import (
    ablate,
    batch,
    calibrate,
    data,
    discovery,
    encoders,
    evaluate,
    knowledge,
    models,
    predict,
    pretrain,
    serve,
    show,
    track,
    train,
    wikipedia,
)
from koala.cli.output import write
from koala.errors import KoalaError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: koala track procedure.txt --entity water",
)
app.command("track", epilog=track.EXAMPLE)(track.track_cli)
app.command("evaluate", epilog=evaluate.EXAMPLE)(evaluate.evaluate_cli)
app.command("predict", epilog=predict.EXAMPLE)(predict.predict_cli)
app.command("train", epilog=train.EXAMPLE)(train.train_cli)
app.command("train-discovery", epilog=discovery.EXAMPLE)(discovery.train_discovery_cli)
# The name of earlier versions.
app.command("train-participants", hidden=True)(discovery.train_discovery_cli)
app.command("ablate", epilog=ablate.EXAMPLE)(ablate.ablate_cli)
app.command("calibrate", epilog=calibrate.EXAMPLE)(calibrate.calibrate_cli)
app.command("export", epilog=models.EXPORT_EXAMPLE)(models.export_cli)
app.command("models", epilog=models.MODELS_EXAMPLE)(models.models_cli)
app.command("batch", epilog=batch.EXAMPLE)(batch.batch_cli)
app.command("show", epilog=show.EXAMPLE)(show.show_cli)
app.command("serve", epilog=serve.EXAMPLE)(serve.serve_cli)
app.add_typer(data.app, name="data")
app.add_typer(encoders.app, name="encoders")
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(pretrain.app, name="pretrain")
app.add_typer(wikipedia.app, name="wikipedia")


def _print_version(wanted: bool) -> None:
    if wanted:
        write(koala.__version__, None)
        raise typer.Exit


@app.callback()
def _koala(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it, stop."),
    ] = False,
) -> None:
    """Track the entities of a procedure: do they exist, what happens to them, where are they."""


def main() -> None:
    """Run the command line: 0 is done, 2 is wrong input or a wrong call, 1 is anything else."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Grids, tables and pages are UTF-8, whatever the terminal's encoding is called.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app()
    except KoalaError as error:
        # One sentence that a person can act on; a traceback is for our own mistakes.
        typer.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
