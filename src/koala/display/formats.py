"""Grids in all file formats, for the command line and the web page."""

import re
from collections.abc import Sequence
from importlib.resources import files

from koala.display.drawing import render_svg
from koala.display.graph import build_graph, render_dot, render_mermaid
from koala.display.marks import Shown, grid_of
from koala.display.page import render_page
from koala.display.terminal import render_table
from koala.errors import KoalaError
from koala.grid import Grid

FORMATS = ("table", "json", "tsv", "csv", "html", "mermaid", "dot", "svg")


def convert(shown: Sequence[Shown], format: str) -> str:
    """Write grids in a format; only table, JSON and HTML contain the reasons, if there are any."""
    grids = [grid_of(each) for each in shown]
    match format:
        case "table":
            return "\n".join(render_table(each) for each in shown)
        case "json":
            return "".join(each.to_json() + "\n" for each in shown)
        case "tsv":
            return "".join(grid.to_tsv() for grid in grids)
        case "csv":
            header = Grid("", (), ()).to_csv()
            return header + "".join(grid.to_csv().removeprefix(header) for grid in grids)
        case "html":
            return render_page(shown)
        case "mermaid":
            return render_mermaid(grids)
        case "dot":
            return render_dot(grids)
        case "svg":
            return _render_picture(grids)
    raise KoalaError(f"Format {format!r} is unknown; expected one of {', '.join(FORMATS)}.")


def _render_picture(grids: Sequence[Grid]) -> str:
    """Draw the graph of a grid as a standalone SVG file."""
    if len(grids) != 1:
        raise KoalaError(f"An SVG picture shows one grid; {len(grids)} were given.")
    # XML forbids these two characters, which `escape` leaves in.
    svg = re.sub("[\ufffe\uffff]", "\ufffd", render_svg(build_graph(grids[0])))
    css = files("koala.display").joinpath("page.css").read_text(encoding="utf-8")
    start, _, rest = svg.partition(">")
    start = start.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{start}>\n<style>\n{css}svg {{ background: var(--page); }}\n</style>{rest}"
