"""`koala serve`: the page and the HTTP API."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.training import tell
from koala.errors import KoalaError
from koala.web.limits import Limits

if TYPE_CHECKING:
    from koala.registry import Trackers

_DEFAULT = Limits()
EXAMPLE = "Example: koala serve --port 8080"


def serve_cli(
    host: Annotated[str, typer.Option(help="Where to listen; only this machine by default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8000,
    model: Annotated[
        str | None,
        typer.Option(
            help="Serve this one alone: a bundled model's name, or a folder. "
            "Default: small, and recipes for recipes."
        ),
    ] = None,
    knowledge: Annotated[
        bool, typer.Option("--knowledge/--no-knowledge", help="Retrieve triples for the entities.")
    ] = True,
    steps: Annotated[int, typer.Option(help="Most steps of a procedure.")] = _DEFAULT.steps,
    entities: Annotated[
        int, typer.Option(help="Most entities of a procedure.")
    ] = _DEFAULT.entities,
    seconds: Annotated[float, typer.Option(help="Most time for a request.")] = _DEFAULT.seconds,
    waiting: Annotated[
        int, typer.Option(help="Most requests in line; more get 429.")
    ] = _DEFAULT.waiting,
) -> None:
    """Serve a page to paste texts into, and the same over HTTP with JSON."""
    try:
        from koala.web.app import build_app
        from koala.web.server import is_local, open_socket, serve, url_of
    except ModuleNotFoundError as error:
        raise KoalaError(
            f"The server needs {error.name}, which is not installed. "
            "Install it with: pip install koala[web]"
        ) from None
    from koala.registry import AUTO

    limits = Limits(steps=steps, entities=entities, seconds=seconds, waiting=waiting)
    with open_socket(host, port) as opened:
        if not is_local(opened):
            tell(
                "Warning: others on the network can reach this server. There are limits but no "
                "passwords and no encryption: put a proxy before it."
            )
        trackers = open_trackers(model, has_knowledge=knowledge)
        # The first text loads the tagger and more: better now than while somebody waits.
        text = "Water boils in the pot."
        trackers.choose(AUTO, text).track(text, ["water"], find=True)
        app = build_app(trackers, limits)
        tell(f"Serving on {url_of(opened)}, API at {url_of(opened)}/docs. Ctrl-C stops.")
        serve(app, opened)


def open_trackers(model: str | None, *, has_knowledge: bool) -> "Trackers":
    """Open the tracker to serve; if none is named, the bundled ones when a text needs them."""
    from koala.registry import AUTO, Trackers, load

    if model is not None and model != AUTO:
        return Trackers.alone(load(model, has_knowledge=has_knowledge))
    return Trackers.bundled(partial(load, has_knowledge=has_knowledge))
