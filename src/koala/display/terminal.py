"""A grid as a text table: entities as rows, steps as columns, the sentences below.

All content of a grid is user text: it passes through `clean` and `rich.text.Text`, which reads no
markup.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from koala.display.changes import Change, describe_evidence, find_changes
from koala.display.marks import (
    SYMBOLS,
    UNNAMED,
    WORDS,
    Kind,
    Shown,
    clean,
    find_problems,
    grid_of,
    is_contradiction,
    is_unnamed,
    kind_of,
    list_unnamed,
    mark_location,
    mark_name,
    shorten,
    title_of,
)
from koala.grid import Grid, Row
from koala.grid.explanation import Explanation
from koala.grid.states import ABSENT

_STYLES: Mapping[Kind, str] = MappingProxyType(
    dict(zip(Kind, ("bold green", "bold cyan", "bold red", "none", "dim"), strict=True))
)

_GAP = 2  # columns between two columns
_NARROWEST = 24
_LIMITS = (16, 13, 10)  # widths at which columns wrap, the most readable first


@dataclass(frozen=True, slots=True)
class Layout:
    """Widths of the columns: the names, the location before each step, each step."""

    name: int
    starts: tuple[int, ...]
    steps: tuple[int, ...]

    def split(self, width: int) -> list[tuple[int, int]]:
        """Split the steps into blocks (first step, last step) that fit into `width`."""
        blocks = []
        first = 1
        while first <= len(self.steps):
            used = self.name + _GAP + self.starts[first - 1] + _GAP + self.steps[first - 1]
            last = first
            while last < len(self.steps) and used + _GAP + self.steps[last] <= width:
                used += _GAP + self.steps[last]
                last += 1
            blocks.append((first, last))
            first = last + 1
        return blocks or [(1, 0)]


def build_layout(grid: Grid, *, width: int | None = None) -> Layout:
    """Choose the widths of the columns: the widest that do not need another block."""
    if width is None:
        return _build_layout(grid, _LIMITS[0], _LIMITS[0])
    # A name, a start and one step always fit side by side.
    most = min(_LIMITS[0], (max(width, _NARROWEST) - 2 * _GAP) // 3)
    layouts = [_build_layout(grid, limit, most) for limit in _LIMITS]
    return min(layouts, key=lambda layout: len(layout.split(width)))


def build_table(
    grid: Grid, *, first: int = 1, last: int | None = None, layout: Layout | None = None
) -> Table:
    """Build the table of the steps `first` to `last`, from 1, with the location before them."""
    layout = layout or build_layout(grid)
    steps = range(first, (len(grid.steps) if last is None else last) + 1)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("entity", width=layout.name, overflow="fold")
    table.add_column(_start_header(first), width=layout.starts[first - 1], overflow="fold")
    for step in steps:
        table.add_column(str(step), width=layout.steps[step - 1], overflow="fold")
    for row in grid.rows:
        cells = [_build_cell(grid, row, step - 1) for step in steps]
        name = Text(_name(grid, row), "bold")
        table.add_row(name, _build_start(grid, row, first), *cells)
    return table


def render_table(shown: Shown, *, width: int = 80, color: bool = False) -> str:
    """Render a grid as text at most `width` wide; many steps give several tables, one below the
    other. Reasons follow if there are any.
    """
    grid = grid_of(shown)
    width = max(width, _NARROWEST)
    out = io.StringIO()
    console = _build_console(out, width, color=color)
    console.print(Text(title_of(grid), "bold"), end="\n\n")
    layout = build_layout(grid, width=width)
    for first, last in layout.split(width) if grid.rows else ():
        console.print(build_table(grid, first=first, last=last, layout=layout))
        console.print()
    console.print(_build_legend(grid, width) if grid.rows else Text("No entities."))
    for problem in find_problems(grid):
        console.print(Text(f"! {problem}", "yellow"))
    if grid.steps:
        console.print("", _build_sentences(grid), sep="\n")
    if isinstance(shown, Explanation):
        console.print("", _build_reasons(shown), sep="\n")
    if grid.signature:
        console.print("", Text(clean(grid.signature), "dim"), sep="\n")
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().split("\n")[:-1])


def _build_console(out: io.StringIO, width: int, *, color: bool) -> Console:
    # All options are set, so that no environment variable changes the result.
    return Console(
        file=out,
        width=width,
        height=100,
        color_system="standard" if color else None,
        force_jupyter=False,
        no_color=False,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _build_cell(grid: Grid, row: Row, index: int) -> Table:
    """Build a symbol with the location next to it; a long location wraps next to the symbol."""
    cell = row.steps[index]
    kind = kind_of(cell)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=1)
    table.add_column(overflow="fold")
    text = _cell_text(grid, row, index)
    table.add_row(Text(SYMBOLS[kind], _STYLES[kind]), Text(text, _STYLES[kind]))
    return table


def _name(grid: Grid, row: Row) -> str:
    return _shorten(mark_name(grid, row))


def _shorten(text: str) -> str:
    """Cut a text to the length of a long name, but keep its mark."""
    own = text.removesuffix(UNNAMED)
    return shorten(own) + text[len(own) :]


def _cell_text(grid: Grid, row: Row, index: int) -> str:
    cell = row.steps[index]
    text = _shorten(mark_location(grid, row, index + 1))
    return f"{text} !from {shorten(cell.before)}" if is_contradiction(row, index) else text


def _build_start(grid: Grid, row: Row, first: int) -> Text:
    is_absent = row.locations[first - 1] == ABSENT
    style = _STYLES[Kind.ABSENT if is_absent else Kind.EXISTS]
    return Text(_start_text(grid, row, first - 1), style)


def _start_text(grid: Grid, row: Row, position: int) -> str:
    location = row.locations[position]
    is_marked = is_unnamed(grid, location, row.location_spans[position])
    return shorten(location) + (UNNAMED if is_marked else "")


def _build_legend(grid: Grid, width: int) -> Text:
    """Build the legend; lines break between entries, not within one."""
    entries = [Text(f"{SYMBOLS[kind]} {WORDS[kind]}", _STYLES[kind]) for kind in Kind]
    entries.append(Text("? location unknown"))
    if list_unnamed(grid):
        entries.append(Text(f"{UNNAMED} not named in the text"))
    lines = [entries.pop(0)]
    for entry in entries:
        if lines[-1].cell_len + _GAP + entry.cell_len <= width:
            lines[-1] = Text(" " * _GAP).join([lines[-1], entry])
        else:
            lines.append(entry)
    return Text("\n").join(lines)


def _build_sentences(grid: Grid) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", width=len(str(len(grid.steps))))
    table.add_column(overflow="fold")
    for number, sentence in enumerate(grid.steps, 1):
        table.add_row(Text(str(number), "bold"), Text(clean(sentence)))
    return table


def _build_reasons(explanation: Explanation) -> Text:
    """Build a paragraph for each change."""
    paragraphs = [_build_change(change) for change in find_changes(explanation)]
    if not paragraphs:
        paragraphs.append(Text("Nothing changes."))
    if not any(reason.evidence for reasons in explanation.reasons for reason in reasons):
        paragraphs.append(Text("No triples were read.", "dim"))
    return Text("\n\n").join(paragraphs)


def _build_change(change: Change) -> Text:
    text = Text(f"Step {change.step}, {shorten(change.name)}: ", "bold")
    text.append(change.summary, _STYLES[change.kind])
    text.append(f". “{clean(change.sentence)}”", "none")
    known = describe_evidence(change)
    return text.append(f" Most attended: {known}." if known else "", "dim")


def _build_layout(grid: Grid, limit: int, most: int) -> Layout:
    def fit(texts: Sequence[str], mark: int = 0) -> int:
        longest_word = max((cell_len(w) for text in texts for w in text.split()), default=0)
        longest = max(cell_len(text) for text in texts)
        return min(most, max(min(limit, longest + mark), longest_word + mark))

    rows = grid.rows
    return Layout(
        fit(["entity", *(_name(grid, row) for row in rows)]),
        tuple(
            fit([_start_header(i + 1), *(_start_text(grid, row, i) for row in rows)])
            for i in range(max(len(grid.steps), 1))
        ),
        tuple(
            # A symbol and a space come before the text.
            fit([str(i + 1), *(_cell_text(grid, row, i) for row in rows)], mark=2)
            for i in range(len(grid.steps))
        ),
    )


def _start_header(first: int) -> str:
    return "before" if first == 1 else f"after {first - 1}"
