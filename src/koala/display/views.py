"""Views of grids as text and HTML; `koala.grid.views` computes them.

All content of a grid is user text: it passes through `clean` or `escape`.
"""

import io
import json
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from koala.display.marks import clean, list_unnamed, title_of
from koala.display.markup import escape, join_lines
from koala.document import split_aliases
from koala.errors import KoalaError
from koala.grid import Grid
from koala.grid.states import ABSENT, UNKNOWN
from koala.grid.views import (
    VIEWS,
    Combination,
    Stay,
    find_views,
    view_combinations,
    view_locations,
    view_steps,
    view_timeline,
)

VIEW_FORMATS = ("table", "json", "html")

_WIDTH = 100

_TITLES = {
    "locations": "What is where after each step",
    "steps": "What each step does",
    "timeline": "Where each entity is",
    "combinations": "What is combined with what",
    "recipe": "What is combined with what",
}


def convert_view(
    grids: Sequence[Grid], view: str, format: str = "table", *, width: int = _WIDTH
) -> str:
    """Write a view of grids as text, JSON lines or a standalone HTML page."""
    if view not in VIEWS:
        raise KoalaError(f"View {view!r} is unknown. Known: {', '.join(VIEWS)}.")
    if format == "json":
        return "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in find_views(grids, view))
    if format == "table":
        return "\n".join(_render_text(grid, view, width) for grid in grids)
    if format == "html":
        return _render_page(grids, view)
    raise KoalaError(f"A view has the formats {', '.join(VIEW_FORMATS)}; {format!r} came.")


def name_location(location: str) -> str:
    """Name a location for readers."""
    return {ABSENT: "does not exist", UNKNOWN: "location unknown"}.get(location, clean(location))


def name_stay(stay: Stay) -> str:
    """Name the steps over which an entity stays: `from the start`, `after step 2 to 4`."""
    if stay.first == 0:
        return "at the start" if stay.last == 0 else f"from the start to step {stay.last}"
    if stay.first == stay.last:
        return f"after step {stay.first}"
    return f"after steps {stay.first} to {stay.last}"


def _render_text(grid: Grid, view: str, width: int) -> str:
    head = clean(title_of(grid))
    match view:
        case "steps":
            lines = [f"{each.number}. {clean(each.sentence)}" for each in view_steps(grid)]
        case "timeline":
            lines = [
                line
                for row in grid.rows
                for line in (
                    clean(row.name),
                    *(
                        f"  {name_stay(stay)}: {name_location(stay.location)}"
                        for stay in view_timeline(row)
                    ),
                )
            ]
        case "combinations" | "recipe":
            lines = [line for tree in view_combinations(grid) for line in _indent(tree, 0)]
        case _:
            return f"{head}\n{_render_locations(grid, width)}{_note_unnamed(grid)}"
    return "\n".join([head, *lines, ""]) + _note_unnamed(grid)


def _note_unnamed(grid: Grid) -> str:
    """Give a line that lists what the text does not name, if there is any."""
    names = list_unnamed(grid)
    return f"Not named in the text: {', '.join(names)}.\n" if names else ""


def _render_locations(grid: Grid, width: int) -> str:
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for name in ("after step", "location", "entities"):
        table.add_column(name)
    for position, here in enumerate(view_locations(grid)):
        label = str(position) if position else "start"
        for location, names in here.items():
            entities = ", ".join(clean(split_aliases(name)[0]) for name in names)
            table.add_row(label, Text(name_location(location)), Text(entities))
            label = ""
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _indent(tree: Combination, depth: int) -> Iterator[str]:
    mark = f"{tree.step}. " if tree.parts else "- "
    yield f"{'  ' * depth}{mark}{clean(tree.name)}"
    for part in tree.parts:
        yield from _indent(part, depth + 1)


def _render_page(grids: Sequence[Grid], view: str) -> str:
    sections = [
        join_lines(
            [
                f"<h2>{escape(title_of(grid))}</h2>",
                _render_html(grid, view),
                f"<p>{escape(note)}</p>" if (note := _note_unnamed(grid)) else "",
            ]
        )
        for grid in grids
    ]
    title = _TITLES[view]
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
td, th {{ border: 1px solid #8888; padding: .3rem .6rem; text-align: left; vertical-align: top; }}
</style>
<h1>{title}</h1>
{join_lines(sections)}
</html>
"""


def _render_html(grid: Grid, view: str) -> str:
    match view:
        case "steps":
            items = [f"<li>{escape(each.sentence)}</li>" for each in view_steps(grid)]
            return f"<ol>\n{join_lines(items)}\n</ol>"
        case "timeline":
            return join_lines(
                _table(
                    (row.name, ""),
                    [(name_stay(s), name_location(s.location)) for s in view_timeline(row)],
                )
                for row in grid.rows
            )
        case "combinations" | "recipe":
            return join_lines(render_combination(tree) for tree in view_combinations(grid))
    rows = [
        (
            f"step {position}" if position else "start",
            name_location(location),
            ", ".join(split_aliases(name)[0] for name in names),
        )
        for position, here in enumerate(view_locations(grid))
        for location, names in here.items()
    ]
    return _table(("after", "location", "entities"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    body = join_lines(f"<tr>{line}</tr>" for line in lines)
    return f"<table>\n<tr>{cells}</tr>\n{body}\n</table>"


def render_combination(tree: Combination) -> str:
    """Render the nested table of a dish: ingredients on the left, what combines them on the right.

    Each step spans the rows of everything it combines, and each cell is as wide as the way to the
    step that uses it.
    """
    rows = ["".join(row) for row in _find_rows(tree, _depth_of(tree) + 1)]
    return f"<table>\n{join_lines(f'<tr>{row}</tr>' for row in rows)}\n</table>"


def _depth_of(tree: Combination) -> int:
    return 1 + max(map(_depth_of, tree.parts)) if tree.parts else 0


def _find_rows(tree: Combination, end: int) -> list[list[str]]:
    """Give the cells of every row of a tree; `end` is the column of the step that uses it."""
    depth = _depth_of(tree)
    wide = f' colspan="{end - depth}"' if end - depth > 1 else ""
    if not tree.parts:
        return [[f'<th scope="row"{wide}>{escape(tree.name)}</th>']]
    rows = [row for part in tree.parts for row in _find_rows(part, depth)]
    rows[0].append(f'<td rowspan="{len(rows)}"{wide}>{tree.step}. {escape(tree.name)}</td>')
    return rows
