"""A grid as a process graph: how entities pass through locations, step by step.

A node is a stay: an entity at a location, from one change to the next. A move is an edge to the
next stay. A step that creates or destroys is a node, too (an event): edges from destroyed entities
lead into it, edges to created ones out of it, so a conversion is a join.

Names and locations are user text: they appear only in quoted labels, never in ids.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from koala.display.marks import WORDS, Kind, clean, shorten, title_of
from koala.grid import Grid, Row
from koala.grid.states import ABSENT, UNKNOWN, Action

# In Mermaid labels `\n` is a line break, `$$` starts TeX, and ﬂ° and ¶ß mean `&` and `;`.
_TRAPS = frozenset("\\$ﬂ¶")
_FONT = 'fontname="Helvetica,Arial,sans-serif"'


@dataclass(frozen=True, slots=True)
class Stay:
    """An entity at a location, from one change to the next."""

    id: str
    row: int
    """The entity's row in the grid, from 0."""
    location: str
    since: int
    """The step after which it begins; 0 is before step 1."""
    kind: Kind
    """The change it begins with; EXISTS if none."""

    @property
    def label(self) -> str:
        """The location in words."""
        words = {UNKNOWN: "location unknown", ABSENT: WORDS[Kind.ABSENT]}
        return words.get(self.location, shorten(self.location))


@dataclass(frozen=True, slots=True)
class Event:
    """A step that creates or destroys entities."""

    id: str
    step: int
    creates: bool
    destroys: bool

    @property
    def converts(self) -> bool:
        """Whether the step both destroys and creates."""
        return self.creates and self.destroys


@dataclass(frozen=True, slots=True)
class Edge:
    """A change: from stay to stay, from stay to event, or from event to stay, given by ids."""

    source: str
    target: str
    step: int
    kind: Kind

    @property
    def label(self) -> str:
        """What happens, and in which step."""
        return f"{WORDS[self.kind]}, step {self.step}"


@dataclass(frozen=True, slots=True)
class Graph:
    """The process graph of one grid."""

    id: str
    title: str
    names: tuple[str, ...]
    """One name per row of the grid, without aliases."""
    steps: tuple[str, ...]
    stays: tuple[Stay, ...]
    events: tuple[Event, ...]
    edges: tuple[Edge, ...]


def build_graph(grid: Grid, *, id: str = "g1") -> Graph:
    """Build the graph of a grid; all ids in it start with `id`."""
    actions: dict[int, set[Action]] = {}
    for row in grid.rows:
        for step, cell in enumerate(row.steps, 1):
            actions.setdefault(step, set()).add(cell.action)
    events = tuple(
        Event(_event_id(id, step), step, Action.CREATE in found, Action.DESTROY in found)
        for step, found in actions.items()
        if found & {Action.CREATE, Action.DESTROY}
    )
    stays: list[Stay] = []
    edges: list[Edge] = []
    for index, row in enumerate(grid.rows):
        _trace(id, index, row, stays, edges)
    names = tuple(shorten(row.aliases[0]) for row in grid.rows)
    steps = tuple(clean(step) for step in grid.steps)
    return Graph(id, title_of(grid), names, steps, tuple(stays), events, tuple(edges))


def _event_id(graph: str, step: int) -> str:
    return f"{graph}_step{step}"


def _trace(graph: str, index: int, row: Row, stays: list[Stay], edges: list[Edge]) -> None:
    """Follow an entity; append its stays and changes to the lists."""

    def arrive(location: str, step: int, kind: Kind = Kind.EXISTS) -> Stay:
        stays.append(Stay(f"{graph}_stay{len(stays) + 1}", index, location, step, kind))
        return stays[-1]

    here = arrive(row.initial, 0) if row.initial != ABSENT else None
    for step, cell in enumerate(row.steps, 1):
        event = _event_id(graph, step)
        if cell.action == Action.CREATE:
            here = arrive(cell.after, step, Kind.CREATE)
            edges.append(Edge(event, here.id, step, Kind.CREATE))
            continue
        if cell.action == Action.NONE and cell.before == ABSENT:
            here = None
            continue
        if here is None or here.location != cell.before:
            # The row contradicts itself: begin a stay that no change leads to.
            here = arrive(cell.before, step - 1)
        if cell.action == Action.MOVE:
            source, here = here, arrive(cell.after, step, Kind.MOVE)
            edges.append(Edge(source.id, here.id, step, Kind.MOVE))
        elif cell.action == Action.DESTROY:
            edges.append(Edge(here.id, event, step, Kind.DESTROY))
            here = None


def render_mermaid(grids: Sequence[Grid]) -> str:
    """Render grids as one Mermaid flowchart with a subgraph for each."""
    lines = ["flowchart TB"]
    for graph in _build_graphs(grids):
        lines.append(f'    subgraph {graph.id}["{_mermaid(graph.title)}"]')
        lines.append("        direction TB")
        for stay in graph.stays:
            name, location = _mermaid(graph.names[stay.row]), _mermaid(stay.label)
            lines.append(f'        {stay.id}["{name}<br/>{location}"]')
        for event in graph.events:
            left, right = ("{{", "}}") if event.converts else ("([", "])")
            lines.append(f'        {event.id}{left}"Step {event.step}"{right}')
        lines += [f'        {e.source} -->|"{e.label}"| {e.target}' for e in graph.edges]
        lines.append("    end")
    return _join(lines)


def render_dot(grids: Sequence[Grid]) -> str:
    """Render grids as one Graphviz digraph with a cluster for each."""
    lines = ["digraph {", f"    node [shape=box, style=rounded, {_FONT}];"]
    lines.append(f"    edge [{_FONT}, fontsize=10];")
    for graph in _build_graphs(grids):
        lines.append(f"    subgraph cluster_{graph.id} {{")
        lines.append(f'        label="{_dot(graph.title)}"; {_FONT};')
        for stay in graph.stays:
            name, location = _dot(graph.names[stay.row]), _dot(stay.label)
            lines.append(f'        {stay.id} [label="{name}\\n{location}"];')
        for event in graph.events:
            shape = "hexagon" if event.converts else "ellipse"
            attributes = f'label="Step {event.step}", tooltip="{_dot(graph.steps[event.step - 1])}"'
            lines.append(f'        {event.id} [{attributes}, shape={shape}, style=""];')
        lines += [f'        {e.source} -> {e.target} [label="{e.label}"];' for e in graph.edges]
        lines.append("    }")
    return _join([*lines, "}"])


def _build_graphs(grids: Sequence[Grid]) -> Iterator[Graph]:
    return (build_graph(grid, id=f"g{number}") for number, grid in enumerate(grids, 1))


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _mermaid(text: str) -> str:
    """Escape text for a quoted Mermaid label, which must not be empty."""
    return "".join(map(_code, text)) or " "


def _code(character: str) -> str:
    """Write all but letters and digits as `#code;`, which is neither Markdown nor HTML."""
    if character in _TRAPS:
        # These have a meaning even as codes; a zero-width space separates them from what follows.
        return f"#{ord(character)};#8203;"
    return character if character.isalnum() or character in " ," else f"#{ord(character)};"


def _dot(text: str) -> str:
    """Escape text for a quoted Graphviz label, which reads backslashes and HTML's `&` codes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
