import pytest

from koala.bundled.examples import read_example
from koala.grid.frames import to_frame
from koala.grid.states import Action


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_has_a_line_for_every_entity_and_step(library):
    pytest.importorskip(library)
    grids = [read_example("coffee"), read_example("dna")]
    frame = to_frame(grids, library)
    assert len(frame) == sum(len(grid.rows) * len(grid.steps) for grid in grids)
    assert list(frame.columns)[:4] == ["procedure", "step", "entity", "action"]
    first = grids[0].to_frame(library)
    assert len(first) < len(frame)


def test_a_graph_has_an_edge_for_every_change():
    networkx = pytest.importorskip("networkx")
    grid = read_example("coffee")
    graph = grid.to_networkx()
    changes = [c for row in grid.rows for c in row.steps if c.action != Action.NONE]
    assert graph.number_of_edges() == len(changes)
    assert isinstance(graph, networkx.MultiDiGraph)
    edges = [d for _, _, d in graph.edges(data=True) if d["entity"] == "coffee"]
    assert [edge["action"] for edge in sorted(edges, key=lambda e: e["step"])] == ["CREATE", "MOVE"]
