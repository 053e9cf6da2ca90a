"""Grids for people: a table for the terminal, a page for the browser."""

from koala.display.page import render_page
from koala.display.terminal import build_table, render_table
from koala.errors import KoalaError
from koala.grid import Grid

__all__ = ["build_table", "render", "render_page", "render_table"]

FORMATS = ("table", "html")


def render(grid: Grid, format: str = "table", *, color: bool = False, width: int = 80) -> str:
    """Render a grid as a text table or as a page; `color` and `width` are the table's."""
    match format:
        case "table":
            return render_table(grid, color=color, width=width)
        case "html":
            return render_page([grid])
    raise KoalaError(f"Format {format!r} is unknown; expected one of {', '.join(FORMATS)}.")
