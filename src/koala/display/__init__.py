"""Display of grids: a table for the terminal, a page for the browser, a graph of the process."""

from koala.display.formats import FORMATS, convert
from koala.display.graph import render_dot, render_mermaid
from koala.display.marks import Shown, grid_of
from koala.display.notebook import render_notebook
from koala.display.page import render_page
from koala.display.terminal import build_table, render_table

__all__ = [
    "FORMATS",
    "Shown",
    "build_table",
    "convert",
    "grid_of",
    "render",
    "render_dot",
    "render_mermaid",
    "render_notebook",
    "render_page",
    "render_table",
]


def render(shown: Shown, format: str = "table", *, color: bool = False, width: int = 80) -> str:
    """Render a grid, with or without reasons; `color` and `width` apply to the table only.

    `notebook` is HTML for the output of a notebook cell, `html` a standalone page.
    """
    if format == "table":
        return render_table(shown, color=color, width=width)
    return render_notebook(shown) if format == "notebook" else convert([shown], format)
