"""The server as an agent meets it: through the client of the protocol's own library."""

import json
import sys

import pytest

mcp = pytest.importorskip("mcp")

import anyio  # noqa: E402
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

from koala.integrations.mcp import build_server  # noqa: E402

TEXT = "Roots absorb water from the soil.\nThe water flows to the leaf."


def ask(server, tool, **arguments):
    async def run():
        async with mcp.Client(server) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(run)


def test_three_tools_with_descriptions_are_listed():
    async def run():
        async with mcp.Client(build_server()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(run)}
    assert set(tools) == {"track", "explain", "evaluate"}
    assert all(tool.description for tool in tools.values())
    assert "text" in tools["track"].input_schema["required"]


def test_a_text_is_tracked_viewed_explained_and_scored():
    server = build_server()
    grid = json.loads(ask(server, "track", text=TEXT, entities=["water"]).content[0].text)
    (water,) = grid["entities"]
    assert water["steps"][1]["after"] == "leaf"
    steps = json.loads(
        ask(server, "track", text=TEXT, entities=["water"], view="steps").content[0].text
    )
    assert len(steps["steps"]) == 2
    reasons = json.loads(ask(server, "explain", text=TEXT, entities=["water"]).content[0].text)
    assert "reason" in reasons["entities"][0]["steps"][0]
    scores = json.loads(ask(server, "evaluate", predicted=[grid], gold=[grid]).content[0].text)
    assert scores["overall"]["f1"] == 1.0


def test_an_agent_fixes_a_cell():
    given = {"text": TEXT, "entities": ["water"], "fixed": ["water@2=stem"]}
    grid = json.loads(ask(build_server(), "track", **given).content[0].text)
    step = grid["entities"][0]["steps"][1]
    assert (step["after"], step["fixed"]) == ("stem", True)
    refused = ask(build_server(), "track", **given | {"fixed": ["water in the stem"]})
    assert refused.is_error
    assert "ENTITY@STEP=LOCATION" in refused.content[0].text


def test_a_mistake_is_told_to_the_agent():
    done = ask(build_server(), "track", text=TEXT, entities=["water"], decoding="best")
    assert done.is_error
    assert "Unknown decoding 'best'" in done.content[0].text


def test_the_command_speaks_the_protocol():
    async def run():
        command = StdioServerParameters(command=sys.executable, args=["-m", "koala", "mcp"])
        async with stdio_client(command) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            return (await session.list_tools()).tools

    assert {tool.name for tool in anyio.run(run)} == {"track", "explain", "evaluate"}
