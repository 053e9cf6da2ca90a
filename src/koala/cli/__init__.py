"""Command line: one module per command, each a thin layer over plain functions."""

import io
import sys
from typing import Annotated

import typer

import koala
from koala.cli import (
    ablate,
    adapt,
    annotate,
    batch,
    calibrate,
    data,
    discovery,
    encoders,
    evaluate,
    interpolate,
    knowledge,
    mcp,
    models,
    predict,
    pretrain,
    report,
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
app.command("annotate", epilog=annotate.EXAMPLE)(annotate.annotate_cli)
app.command("evaluate", epilog=evaluate.EXAMPLE)(evaluate.evaluate_cli)
app.command("predict", epilog=predict.EXAMPLE)(predict.predict_cli)
app.command("train", epilog=train.EXAMPLE)(train.train_cli)
app.command("adapt", epilog=adapt.EXAMPLE)(adapt.adapt_cli)
app.command("train-discovery", epilog=discovery.EXAMPLE)(discovery.train_discovery_cli)
# Its name in earlier versions.
app.command("train-participants", hidden=True)(discovery.train_discovery_cli)
app.command("ablate", epilog=ablate.EXAMPLE)(ablate.ablate_cli)
app.command("interpolate", epilog=interpolate.EXAMPLE)(interpolate.interpolate_cli)
app.command("calibrate", epilog=calibrate.EXAMPLE)(calibrate.calibrate_cli)
app.command("export", epilog=models.EXPORT_EXAMPLE)(models.export_cli)
app.command("models", epilog=models.MODELS_EXAMPLE)(models.models_cli)
app.command("batch", epilog=batch.EXAMPLE)(batch.batch_cli)
app.command("show", epilog=show.EXAMPLE)(show.show_cli)
app.command("serve", epilog=serve.EXAMPLE)(serve.serve_cli)
app.command("mcp", epilog=mcp.EXAMPLE)(mcp.mcp_cli)
app.add_typer(data.app, name="data")
app.add_typer(encoders.app, name="encoders")
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(pretrain.app, name="pretrain")
app.add_typer(report.app, name="report")
app.add_typer(wikipedia.app, name="wikipedia")


def _print_version(wanted: bool) -> None:
    if wanted:
        write(koala.__version__, None)
        raise typer.Exit


@app.callback()
def _koala(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Track the entities of a procedure: which exist, what each step does to them, where they are.

    Every command has its own help with an example: koala COMMAND --help.
    """


def main() -> None:
    """Run the command line. Exit codes: 0 success, 2 wrong input or call, 1 any other failure."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Grids, tables and pages are UTF-8, even if the terminal claims another encoding.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app()
    except KoalaError as error:
        # A user's mistake gets one sentence; tracebacks are for bugs in koala.
        typer.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
