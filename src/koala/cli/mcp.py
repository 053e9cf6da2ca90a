"""`koala mcp`: a Model Context Protocol server for agents."""

EXAMPLE = 'Example: add {"command": "koala", "args": ["mcp"]} to the servers of an agent.'


def mcp_cli() -> None:
    """Serve the tools track, explain and evaluate to agents, on stdin and stdout."""
    from koala.integrations.mcp import build_server

    build_server().run()
