"""A process graph as inline SVG: one lane per entity, time runs downwards.

Only steps that change something have a band: arrows and events at its top, the stays they lead to
at its bottom. Colours and fonts come from the page's style sheet.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from koala.display.graph import Edge, Event, Graph, Stay
from koala.display.marks import Kind
from koala.display.markup import escape, join_lines

_MARGIN = 72  # left of the lanes, for the step numbers
_LANE = 172
_BOX = 152  # the width of a stay
_HEIGHT = 42  # its height: the entity above, the location below
_GAP = 8
_ARROWS = 36  # the height of a band's arrows
_JOINS = 80  # the same if the step has an event
_EVENT = 11  # half the height of an event
_LETTERS = 18  # width of a stay in letters

Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Coordinates of all parts, in pixels."""

    lanes: dict[int, int]
    """The middle of each lane, by row of the grid."""
    bands: dict[int, tuple[int, int]]
    """Top and bottom of the arrows of each step."""
    stays: dict[str, Point]
    """The middle of the top edge of each stay, by id."""
    events: dict[str, Point]
    """The centre of each event, by id."""
    size: Point


def build_layout(graph: Graph) -> Layout:
    """Place the stays in their lanes, one band below the other."""
    rows = sorted({stay.row for stay in graph.stays})
    lanes = {row: _MARGIN + _LANE * number + _LANE // 2 for number, row in enumerate(rows)}
    changing = sorted({edge.step for edge in graph.edges})
    slots: dict[str, tuple[int, int]] = {}  # band of each stay, and its position in the band
    depths: Counter[tuple[int, int]] = Counter()
    for stay in graph.stays:
        band = bisect_right(changing, stay.since)
        # A row that contradicts itself may have several stays between two changes: stack them.
        slots[stay.id] = band, depths[band, stay.row]
        depths[band, stay.row] += 1
    most: Counter[int] = Counter()
    for (band, _), depth in depths.items():
        most[band] = max(most[band], depth)
    joins = {event.step for event in graph.events}
    y = _GAP
    tops = [y]
    bands = {}
    for band, step in enumerate(changing):
        start = y + most[band] * (_HEIGHT + _GAP)
        y = start + (_JOINS if step in joins else _ARROWS)
        bands[step] = start, y
        tops.append(y)
    stays = {
        stay.id: (lanes[stay.row], tops[band] + slot * (_HEIGHT + _GAP))
        for stay, (band, slot) in zip(graph.stays, slots.values(), strict=True)
    }
    height = y + most[len(changing)] * (_HEIGHT + _GAP) + _GAP
    events = _place_events(graph, stays, bands)
    return Layout(lanes, bands, stays, events, (_MARGIN + _LANE * len(rows), height))


def _place_events(
    graph: Graph, stays: dict[str, Point], bands: dict[int, tuple[int, int]]
) -> dict[str, Point]:
    """Place each event in the lane of its entity, or between lanes if it has several."""
    around: dict[str, list[int]] = defaultdict(list)
    for edge in graph.edges:
        if edge.kind == Kind.CREATE:
            around[edge.source].append(stays[edge.target][0])
        if edge.kind == Kind.DESTROY:
            around[edge.target].append(stays[edge.source][0])
    points = {}
    for event in graph.events:
        lanes = around[event.id]
        # On the edge between two lanes, where no line of another entity runs.
        between = _MARGIN + _LANE * round((sum(lanes) / len(lanes) - _MARGIN) / _LANE)
        points[event.id] = lanes[0] if len(lanes) == 1 else between, sum(bands[event.step]) // 2
    return points


def render_svg(graph: Graph) -> str:
    """Render a graph as an `svg` element; screen readers treat it as one picture."""
    layout = build_layout(graph)
    width, height = layout.size
    parts = [
        '<svg class="graph" role="img" aria-label="Process graph; the table says the same" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        *_draw_numbers(graph, layout),
        *_draw_rests(graph, layout),
        *(_draw_edge(edge, layout) for edge in graph.edges),
        *(_draw_event(event, graph, layout) for event in graph.events),
        *(_draw_stay(stay, graph, layout) for stay in graph.stays),
        "</svg>",
    ]
    return join_lines(parts)


def _draw_numbers(graph: Graph, layout: Layout) -> Iterator[str]:
    for step, (start, end) in layout.bands.items():
        text = _draw_text(f"Step {step}", _MARGIN // 2, (start + end) // 2)
        yield f'<g class="number">{_title(graph.steps[step - 1])}{text}</g>'


def _draw_rests(graph: Graph, layout: Layout) -> Iterator[str]:
    """Draw a line to the end for every entity that exists at the end."""
    leaves = {edge.source for edge in graph.edges}
    last = {stay.row: stay for stay in graph.stays}
    for stay in last.values():
        if stay.id not in leaves:
            x, y = layout.stays[stay.id]
            yield f'<path class="rest" d="M{x} {y + _HEIGHT}V{layout.size[1]}"/>'


def _draw_edge(edge: Edge, layout: Layout) -> str:
    x, y = _find_bottom(edge.source, layout)
    end, top = _find_top(edge.target, layout)
    # Straight down to the band of its step, then to the lane of its target.
    turn = max(y, layout.bands[edge.step][0])
    middle = (turn + top) // 2
    line = f"M{x} {y}V{turn}C{x} {middle} {end} {middle} {end} {top - 4}"
    head = f"M{end - 4} {top - 7}h8l-4 7z"
    number = _draw_text(str(edge.step), end + 10, middle) if edge.kind == Kind.MOVE else ""
    return (
        f'<g class="edge {edge.kind}">{_title(edge.label)}'
        f'<path d="{line}"/><path class="head" d="{head}"/>{number}</g>'
    )


def _find_bottom(id: str, layout: Layout) -> Point:
    x, y = layout.stays.get(id) or layout.events[id]
    return x, y + (_HEIGHT if id in layout.stays else _EVENT)


def _find_top(id: str, layout: Layout) -> Point:
    x, y = layout.stays.get(id) or layout.events[id]
    return x, y - (0 if id in layout.stays else _EVENT)


def _draw_event(event: Event, graph: Graph, layout: Layout) -> str:
    x, y = layout.events[event.id]
    kind = "convert" if event.converts else "create" if event.creates else "destroy"
    return (
        f'<g class="event {kind}">{_title(graph.steps[event.step - 1])}'
        f'<rect x="{x - 18}" y="{y - _EVENT}" width="36" height="{2 * _EVENT}" rx="{_EVENT}"/>'
        f"{_draw_text(str(event.step), x, y)}</g>"
    )


def _draw_stay(stay: Stay, graph: Graph, layout: Layout) -> str:
    x, y = layout.stays[stay.id]
    name = graph.names[stay.row]
    return (
        f'<g class="stay {stay.kind}">{_title(f"{name}: {stay.label}")}'
        f'<rect x="{x - _BOX // 2}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="6"/>'
        f'<g class="name">{_draw_text(name, x, y + 13)}</g>{_draw_text(stay.label, x, y + 29)}</g>'
    )


def _title(text: str) -> str:
    """Add a text that is shown on hover."""
    return f"<title>{escape(text)}</title>"


def _draw_text(text: str, x: int, y: int) -> str:
    """Draw a line of text centred on a point; long text is cut."""
    return f'<text x="{x}" y="{y + 4}">{escape(_fit(text))}</text>'


def _fit(text: str) -> str:
    if cell_len(text) <= _LETTERS:
        return text
    return f"{set_cell_size(text, _LETTERS - 1).rstrip()}…"
