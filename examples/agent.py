"""For agents: call the tools of `koala mcp` with the client of the Model Context Protocol.

python examples/agent.py

Needs `pip install 'koala-tracker[mcp]'`. An agent does the same; it reads the descriptions of the
tools and chooses one.
"""

import json
import sys

import anyio
import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

TEXT = "Roots absorb water from the soil.\nThe water flows to the leaf."


async def main() -> None:
    """List the tools, then ask for the changes of every step."""
    # An agent's configuration has {"command": "koala", "args": ["mcp"]}.
    server = StdioServerParameters(command=sys.executable, args=["-m", "koala", "mcp"])
    async with mcp.Client(stdio_client(server)) as client:
        for tool in (await client.list_tools()).tools:
            print(f"{tool.name}: {(tool.description or '').splitlines()[0]}")
        arguments = {"text": TEXT, "entities": ["water"], "view": "steps"}
        answer = await client.call_tool("track", arguments)
    for step in json.loads(answer.content[0].text)["steps"]:
        print(f"Step {step['step']}: {step['sentence']}")


if __name__ == "__main__":
    anyio.run(main)
