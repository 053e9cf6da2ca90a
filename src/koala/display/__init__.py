"""Grids for people: a table for the terminal, a page for the browser, a graph of the process."""

from koala.display.graph import render_dot, render_mermaid
from koala.display.marks import Shown, grid_of
from koala.display.page import render_page
from koala.display.terminal import build_table, render_table
from koala.errors import KoalaError

__all__ = [
    "Shown",
    "build_table",
    "grid_of",
    "render",
    "render_dot",
    "render_mermaid",
    "render_page",
    "render_table",
]

FORMATS = ("table", "html", "mermaid", "dot")


def render(shown: Shown, format: str = "table", *, color: bool = False, width: int = 80) -> str:
    """Render a grid, with reasons or without; `color` and `width` are the table's.

    A table and a page tell the reasons, a graph has no room for them.
    """
    match format:
        case "table":
            return render_table(shown, color=color, width=width)
        case "html":
            return render_page([shown])
        case "mermaid":
            return render_mermaid([grid_of(shown)])
        case "dot":
            return render_dot([grid_of(shown)])
    raise KoalaError(f"Format {format!r} is unknown; expected one of {', '.join(FORMATS)}.")
