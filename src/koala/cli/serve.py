"""`koala serve`: the web page and the HTTP API."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.options import KnowledgeOption
from koala.cli.training import tell
from koala.errors import needs_extra
from koala.web.limits import Limits

if TYPE_CHECKING:
    from koala.registry import Trackers

_DEFAULT = Limits()
EXAMPLE = "Example: koala serve --port 8080"


def serve_cli(
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default only this machine can connect.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 chooses a free one.")] = 8000,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Serve only this model: name of a bundled one, or a folder. Default: recipes for "
            "recipes, small for other texts.",
        ),
    ] = None,
    knowledge: KnowledgeOption = True,
    steps: Annotated[int, typer.Option(help="Limit: steps per procedure.")] = _DEFAULT.steps,
    entities: Annotated[
        int, typer.Option(help="Limit: entities per procedure.")
    ] = _DEFAULT.entities,
    seconds: Annotated[float, typer.Option(help="Limit: seconds per request.")] = _DEFAULT.seconds,
    waiting: Annotated[
        int, typer.Option(help="Limit: requests in the queue; further ones are answered with 429.")
    ] = _DEFAULT.waiting,
) -> None:
    """Serve a web page for tracking texts, and an HTTP API with JSON."""
    with needs_extra("web", "The server"):
        from koala.web.app import build_app
        from koala.web.server import is_local, open_socket, serve, url_of
    from koala.registry import AUTO

    limits = Limits(steps=steps, entities=entities, seconds=seconds, waiting=waiting)
    with open_socket(host, port) as opened:
        if not is_local(opened):
            tell(
                "Warning: others on the network can reach this server. It limits requests, but has "
                "no passwords and no encryption: put a reverse proxy in front of it."
            )
        trackers = open_trackers(model, has_knowledge=knowledge)
        # The first text loads the tagger and other data: do that before the first request.
        text = "Water boils in the pot."
        trackers.choose(AUTO, text).track(text, ["water"], find=True)
        app = build_app(trackers, limits)
        tell(f"Serving on {url_of(opened)}, API at {url_of(opened)}/docs. Stop with Ctrl-C.")
        serve(app, opened)


def open_trackers(model: str | None, *, has_knowledge: bool) -> "Trackers":
    """Open one named tracker, or the bundled ones, which are loaded when a text needs them."""
    from koala.registry import AUTO, Trackers, load

    if model is not None and model != AUTO:
        return Trackers.single(load(model, has_knowledge=has_knowledge))
    return Trackers.bundled(partial(load, has_knowledge=has_knowledge))
