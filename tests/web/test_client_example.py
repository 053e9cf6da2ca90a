"""examples/client.py against the real server, and its types against the server's description."""

import importlib.util
import sys
from pathlib import Path

import pytest

from koala.web.schemas import CellValue, EntityValue, GridValue

pytest.importorskip("httpx")
PATH = Path(__file__).parents[2] / "examples" / "client.py"
TEXT = "Roots absorb water from the soil. The water flows to the leaf."


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("koala_client_example", PATH)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_text_is_tracked_and_exported(example, served):
    with example.Client(served.url) as client:
        grid = client.track(TEXT, ["water"])
        assert [entity["name"] for entity in grid["entities"]] == ["water"]
        (move,) = [line for line in example.describe(grid, TEXT) if line.startswith("step 2")]
        assert move.endswith("→ leaf (“leaf”)")
        assert client.export(grid, "csv").startswith("paragraph,step,")
        assert [each["steps"] for each in client.track_all([TEXT, TEXT])] == [grid["steps"]] * 2


def test_a_refusal_is_an_error_with_its_reason(example, served):
    with (
        example.Client(served.url) as client,
        pytest.raises(example.ServerError, match="Model 'large' is not served"),
    ):
        client.track(TEXT, model="large")


def test_the_example_runs_as_a_program(example, served, capsys):
    example.main(TEXT, served.url)
    assert "water MOVE" in capsys.readouterr().out


def test_the_types_are_those_of_the_server(example):
    pairs = [(example.Cell, CellValue), (example.Entity, EntityValue), (example.Grid, GridValue)]
    for mine, theirs in pairs:
        assert set(mine.__annotations__) <= set(theirs.model_fields)
