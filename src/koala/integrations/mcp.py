"""A Model Context Protocol server: agents call koala as tools.

`koala mcp` speaks the protocol on stdin and stdout.
"""

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any

import koala
from koala.errors import KoalaError, needs_extra
from koala.evaluation import score
from koala.grid import Grid
from koala.grid.views import find_views
from koala.inference.fixes import parse_fixes
from koala.registry import AUTO, Trackers, load

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


@lru_cache(maxsize=1)
def _open_trackers() -> Trackers:
    return Trackers.bundled(load)


def track(
    text: str,
    entities: list[str] | None = None,
    model: str = AUTO,
    decoding: str = "viterbi",
    view: str | None = None,
    fixed: list[str] | None = None,
) -> dict[str, Any]:
    """Track entities through the steps of a procedure (recipe, protocol, manual, textbook).

    Gives for every entity and step whether it is created, moved or destroyed, and its location
    before and after (`-`: does not exist, `?`: unknown). Entities are found if none are named.
    With `view` (locations, steps, timeline, recipe) gives that view of the grid instead. `fixed`
    holds cells that are known to be right, as in `water@3=pot` (`-`: does not exist then); the rest
    of the grid follows.
    """
    tracker = _open_trackers().choose(model, text).with_decoding(decoding)
    grid = tracker.track(text, entities, fixed=parse_fixes(fixed or ()))
    return find_views([grid], view)[0] if view else grid.to_dict()


def explain(text: str, entities: list[str] | None = None, model: str = AUTO) -> dict[str, Any]:
    """Track entities as `track` does, and give a reason for every cell.

    A reason has the probabilities of actions and locations, the offsets of the entity's mentions in
    the step, and the ConceptNet triples that were attended to.
    """
    return _open_trackers().choose(model, text).explain(text, entities).to_dict()


def evaluate(predicted: list[dict[str, Any]], gold: list[dict[str, Any]]) -> dict[str, Any]:
    """Score predicted grids against gold ones as the ProPara leaderboard does (document level).

    Grids have the shape that `track` gives; they are matched by their ids.
    """
    scores = score(*(list(map(Grid.from_dict, grids)) for grids in (predicted, gold)))
    return {**scores.to_dict(), "signature": scores.signature}


def build_server() -> "MCPServer":
    """Build the server with its three tools; a user's mistake is a tool error with its message."""
    with needs_extra("mcp", "The Model Context Protocol server"):
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer(
        "koala", version=koala.__version__, instructions="Tracks entities through procedural texts."
    )
    for tool in (track, explain, evaluate):
        server.add_tool(_raising(tool, ToolError), name=tool.__name__, description=tool.__doc__)
    return server


def _raising(tool: Any, error_type: type[Exception]) -> Any:  # noqa: ANN401
    """Turn koala's errors into those that the protocol shows to the agent."""

    @wraps(tool)
    def run(*args: Any, **options: Any) -> Any:  # noqa: ANN401
        try:
            return tool(*args, **options)
        except KoalaError as error:
            raise error_type(str(error)) from None

    return run
