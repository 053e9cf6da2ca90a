"""Grids as one standalone HTML page: no requests, no scripts, no fonts.

All content of a grid is user text and passes through `escape`. Colour is never the only signal:
each cell also has a symbol, and a word for screen readers.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType

from koala.display.drawing import render_svg
from koala.display.graph import build_graph
from koala.display.grounding import Groups, build_groups
from koala.display.marks import (
    SYMBOLS,
    UNNAMED,
    WORDS,
    Kind,
    Shown,
    clean,
    confidence_of,
    describe,
    find_problems,
    grid_of,
    is_contradiction,
    kind_of,
    list_unnamed,
    location_of,
    mark_location,
    mark_name,
    name_of,
    title_of,
)
from koala.display.markup import escape, join_lines
from koala.display.reasons import render_reasons
from koala.grid import Cell, Grid, Row
from koala.grid.explanation import Explanation
from koala.grid.states import ABSENT, UNKNOWN, Action

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_PAPER = 140  # letters in a line of a printed page, A4 or Letter in landscape format

_SPOKEN: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.CREATE: "created at",
        Kind.MOVE: "moved to",
        Kind.DESTROY: "destroyed",
        Kind.EXISTS: "still at",
        Kind.ABSENT: "does not exist",
    }
)
"""Words for screen readers instead of the symbols."""


def render_page(shown: Sequence[Shown], *, title: str = "Entities, step by step") -> str:
    """Render grids, and reasons where given, as a standalone page.

    Several grids get a table of contents.
    """
    css = files("koala.display").joinpath("page.css").read_text(encoding="utf-8")
    grids = [grid_of(each) for each in shown]
    groups = [build_groups(grid, f"grid-{number}") for number, grid in enumerate(grids, 1)]
    rules = "".join(each.render_css() for each in groups)
    sections = list(map(_render_section, shown, groups))
    body = [_render_contents(grids) if len(grids) > 1 else "", render_legend(grids), *sections]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{css}{rules}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{join_lines(body) if grids else "<p>No procedures.</p>"}
</main>
</body>
</html>
"""


def _count(number: int, noun: str, nouns: str) -> str:
    return f"{number} {noun if number == 1 else nouns}"


def _sizes(grid: Grid) -> str:
    entities = _count(len(grid.rows), "entity", "entities")
    return f"{entities}, {_count(len(grid.steps), 'step', 'steps')}"


def _render_contents(grids: Sequence[Grid]) -> str:
    items = [
        f'<li><a href="#grid-{number}">{escape(title_of(grid))}</a> '
        f'<span class="quiet">{_sizes(grid)}</span></li>'
        for number, grid in enumerate(grids, 1)
    ]
    return join_lines(
        ['<nav class="contents" aria-label="Procedures">', "<ul>", *items, "</ul></nav>"]
    )


def render_legend(grids: Sequence[Grid]) -> str:
    """Render the meaning of the symbols that grids use."""
    cells = [(row, i) for grid in grids for row in grid.rows for i in range(len(row.steps))]
    items = [_render_key(kind.value, SYMBOLS[kind], WORDS[kind]) for kind in Kind]
    items.append(_render_key(Kind.EXISTS, UNKNOWN, "location unknown"))
    if any(_confidence(row.steps[i]) for row, i in cells):
        items.append(_render_key("confidence", "%", "confidence"))
    if any(is_contradiction(row, i) for row, i in cells):
        items.append(_render_key("contradiction", "!", "contradicts the steps before"))
    if any(map(list_unnamed, grids)):
        items.append(_render_key("unnamed", UNNAMED, "not named in the text"))
    return join_lines(['<ul class="legend" aria-label="Legend">', *items, "</ul>"])


def _render_key(name: str, symbol: str, meaning: str) -> str:
    return f'<li><span class="key {name}">{symbol}</span> {meaning}</li>'


def _render_section(shown: Shown, groups: Groups) -> str:
    grid, key = groups.grid, groups.key
    problems = [f'<p class="problem">! {escape(text)}</p>' for text in find_problems(grid)]
    parts = [
        f'<section id="{key}" aria-labelledby="{key}-title">',
        f'<h2 id="{key}-title">{escape(title_of(grid))}</h2>',
        render_grid(groups) if grid.rows else '<p class="quiet">No entities.</p>',
        *problems,
        render_sentences(groups) if grid.steps else "",
        _render_graph(grid, key),
        render_reasons(shown, key) if isinstance(shown, Explanation) else "",
        f'<p class="signature">{escape(grid.signature)}</p>' if grid.signature else "",
        "</section>",
    ]
    return join_lines(parts)


def render_grid(groups: Groups) -> str:
    """Render the table of a grid; an element with the id KEY-title names it."""
    grid, key = groups.grid, groups.key
    wide = " wide" if _is_wide(grid) else ""
    numbers = [
        f'<th scope="col" title="{escape(sentence)}"><a href="#{key}-step-{number}">'
        f'<span class="hidden">Step </span>{number}</a></th>'
        for number, sentence in enumerate(grid.steps, 1)
    ]
    parts = [
        f'<div class="scroll{wide}" role="region" aria-labelledby="{key}-title" tabindex="0">',
        f'<table style="--rows: {len(grid.steps) + 2}">',
        '<thead><tr><th scope="col">Entity</th><th scope="col">Before</th>',
        *numbers,
        "</tr></thead>",
        "<tbody>",
        *(_render_row(groups, number) for number in range(len(grid.rows))),
        "</tbody>",
        "</table></div>",
    ]
    return join_lines(parts)


def _is_wide(grid: Grid) -> bool:
    """Tell whether the columns, each as wide as its longest word, are too wide for paper."""
    rows = [(name_of(row), clean(row.initial), *map(location_of, row.steps)) for row in grid.rows]
    words = (
        [word for text in column for word in text.split()] for column in zip(*rows, strict=True)
    )
    # Four letters per column for the symbol and the padding.
    return sum(max(map(len, column), default=0) + 4 for column in words) > _PAPER


def _render_row(groups: Groups, number: int) -> str:
    grid, row = groups.grid, groups.grid.rows[number]
    kind = Kind.ABSENT if row.initial == ABSENT else Kind.EXISTS
    spoken = _render_hidden(f"{WORDS[kind]} ") if kind == Kind.ABSENT else ""
    parts = [
        f'<tr><th scope="row"{_class(groups.of_entity(number))}>'
        f"{_render_unnamed(mark_name(grid, row))}</th>",
        f"<td{_class('start', kind, *groups.of_cell(number, -1))}>{spoken}"
        f"{_render_location(groups, row, 0)}</td>",
        *(_render_cell(groups, number, index) for index in range(len(row.steps))),
        "</tr>",
    ]
    return join_lines(parts)


def _class(*names: str) -> str:
    """Give the class attribute for some names, of which some may be empty."""
    some = " ".join(name for name in names if name)
    return f' class="{some}"' if some else ""


def _render_location(groups: Groups, row: Row, position: int) -> str:
    """Render a location; where it begins, it is a link to the words that name it."""
    text = _render_unnamed(mark_location(groups.grid, row, position))
    target = groups.of_location(row.location_spans[position])
    begins = position == 0 or row.steps[position - 1].action != Action.NONE
    return f'<a href="#{target}">{text}</a>' if text and target and begins else text


def _render_unnamed(text: str) -> str:
    """Render a name, and its mark with a word for screen readers."""
    own = text.removesuffix(UNNAMED)
    if own == text:
        return escape(text)
    mark = f'<span aria-hidden="true">{UNNAMED}</span>'
    return f"{escape(own)}{mark}{_render_hidden(' (not named in the text)')}"


def _render_cell(groups: Groups, number: int, index: int) -> str:
    grid, row = groups.grid, groups.grid.rows[number]
    cell = row.steps[index]
    kind = kind_of(cell)
    label = escape(f"{name_of(row)}, step {index + 1}: {_describe(cell)}")
    parts = [
        f"<td{_class(kind, *groups.of_cell(number, index))} "
        f'title="{label}\n{escape(grid.steps[index])}">',
        f'<span class="mark" aria-hidden="true">{SYMBOLS[kind]}</span>',
        _render_hidden(f"{_SPOKEN[kind]} "),
        f'<span class="place">{_render_location(groups, row, index + 1)}</span>',
    ]
    if is_contradiction(row, index):
        parts.append(f' <span class="contradiction">! from {escape(cell.before)}</span>')
    if confidence := _confidence(cell):
        parts.append(f' <span class="confidence">{confidence}</span>')
    return "".join([*parts, "</td>"])


def _render_hidden(text: str) -> str:
    return f'<span class="hidden">{text}</span>'


def _describe(cell: Cell) -> str:
    confidence = _confidence(cell)
    return f"{describe(cell)} ({confidence} confident)" if confidence else describe(cell)


def _confidence(cell: Cell) -> str:
    confidence = confidence_of(cell)
    return "" if confidence is None else f"{confidence:.0%}"


def render_sentences(groups: Groups) -> str:
    """Render the steps as a list; pointing at a cell of the grid marks its words."""
    grid, key = groups.grid, groups.key
    items = [
        f'<li id="{key}-step-{index + 1}">{groups.render_step(index)}</li>'
        for index in range(len(grid.steps))
    ]
    return join_lines([f'<ol aria-label="Steps of procedure {escape(grid.id)}">', *items, "</ol>"])


def _render_graph(grid: Grid, key: str) -> str:
    graph = build_graph(grid)
    if not graph.stays:
        return ""
    parts = [
        f'<h3 id="{key}-graph">Process</h3>',
        f'<div class="scroll" role="region" aria-labelledby="{key}-graph" tabindex="0">',
        render_svg(graph),
        "</div>",
    ]
    return join_lines(parts)
