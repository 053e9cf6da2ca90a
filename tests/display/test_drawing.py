import itertools
import re

import pytest
from hypothesis import given

from koala.display.drawing import Layout, build_layout, render_svg
from koala.display.graph import Graph, build_graph
from koala.display.marks import Kind
from koala.grid import Cell, Grid, Row
from koala.grid.states import Action

from .. import strategies
from .anything import HOSTILE, RAIN, grids

WIDTH, HEIGHT = 152, 42  # of a stay


def check(graph: Graph, layout: Layout) -> None:
    """Check that nothing overlaps or is outside, and that every arrow points down."""
    width, height = layout.size
    boxes = sorted(layout.stays.values())
    assert len(set(boxes)) == len(graph.stays)
    for (x, top), (other_x, other_top) in itertools.pairwise(boxes):
        assert x != other_x or top + HEIGHT <= other_top
    assert all(WIDTH / 2 <= x <= width - WIDTH / 2 for x, _ in boxes)
    assert all(0 <= top <= height - HEIGHT for _, top in boxes)
    points = layout.stays | layout.events
    for edge in graph.edges:
        assert points[edge.source][1] < points[edge.target][1]


@given(grids() | strategies.grids())
def test_any_graph_has_a_clean_layout(grid):
    graph = build_graph(grid)
    check(graph, build_layout(graph))
    svg = render_svg(graph)
    svg.encode()
    assert svg.count('class="stay') == len(graph.stays)
    assert svg.count('class="edge') == len(graph.edges)
    assert svg.count('class="event') == len(graph.events)


def test_a_hundred_steps():
    locations = ["-", *(f"location {step % 7}" for step in range(99)), "-"]
    rows = tuple(Row.from_locations(f"entity {number}", locations) for number in range(20))
    graph = build_graph(Grid("long", tuple(f"Sentence {i}." for i in range(100)), rows))
    layout = build_layout(graph)
    check(graph, layout)
    assert list(layout.bands) == list(range(1, 101))


def test_steps_without_changes_take_no_space():
    rows = (Row.from_locations("ink", ["pen", *["paper"] * 50, "bin"]),)
    graph = build_graph(Grid("1", tuple("Step." for _ in range(51)), rows))
    assert list(build_layout(graph).bands) == [1, 51]


def test_a_conversion_is_between_lanes_and_a_destruction_in_its_lane():
    rows = [["a", "-", "-"], ["b", "-", "-"], ["-", "c", "-"]]
    names = ("flour", "water", "dough")
    rows = [Row.from_locations(name, row) for name, row in zip(names, rows, strict=True)]
    graph = build_graph(Grid("1", ("Mix.", "Eat."), tuple(rows)))
    layout = build_layout(graph)
    join, alone = (layout.events[event.id] for event in graph.events)
    assert join[0] not in layout.lanes.values()
    assert alone[0] == layout.lanes[2]
    assert [event.converts for event in graph.events] == [True, False]


@pytest.mark.parametrize("name", ["a" * 60, "水" * 60, "two words " * 9, HOSTILE])
def test_long_names_are_cut(name):
    svg = render_svg(build_graph(Grid("1", ("One.",), (Row.from_locations(name, ["a", "b"]),))))
    assert "…" in svg
    texts = re.findall(r"<text[^>]*>(.*?)</text>", svg)
    assert all(len(re.sub(r"&\w+;|&#\w+;", "x", text)) <= 18 for text in texts)
    assert not re.search("<script|<img", svg)


def test_stays_of_a_contradicting_row_are_stacked():
    cells = Cell(Action.MOVE, "pen", "paper"), Cell(Action.MOVE, "desk", "bin")
    graph = build_graph(Grid("1", ("One.", "Two."), (Row("ink", cells),)))
    layout = build_layout(graph)
    check(graph, layout)
    assert [stay.kind for stay in graph.stays] == [Kind.EXISTS, Kind.MOVE, Kind.EXISTS, Kind.MOVE]


def test_entities_that_exist_at_the_end_have_a_line_to_the_end():
    assert render_svg(build_graph(RAIN)).count('class="rest"') == 2
