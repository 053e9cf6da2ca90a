"""`koala serve`: the page and the HTTP API."""

from typing import Annotated

import typer

from koala.cli.trackers import open_tracker
from koala.cli.training import tell
from koala.errors import KoalaError
from koala.web.limits import Limits

_DEFAULT = Limits()
EXAMPLE = "Example: koala serve --port 8080"


def serve_cli(
    host: Annotated[str, typer.Option(help="Where to listen; only this machine by default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8000,
    model: Annotated[str | None, typer.Option(help="A bundled model's name, or a folder.")] = None,
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
    limits = Limits(steps=steps, entities=entities, seconds=seconds, waiting=waiting)
    with open_socket(host, port) as opened:
        if not is_local(opened):
            tell(
                "Warning: others on the network can reach this server. There are limits but no "
                "passwords and no encryption: put a proxy before it."
            )
        tracker = open_tracker(model, has_knowledge=knowledge)
        # The first text loads the tagger and more: better now than while somebody waits.
        tracker.track("Water boils in the pot.", ["water"], find=True)
        app = build_app(tracker, limits)
        tell(f"Serving on {url_of(opened)}, API at {url_of(opened)}/docs. Ctrl-C stops.")
        serve(app, opened)
