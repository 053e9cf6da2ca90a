"""Grids as files: every format of the command line, and the graph as a picture."""

import re
from collections.abc import Sequence
from enum import StrEnum
from importlib.resources import files

from koala.display import Shown, grid_of, render_dot, render_mermaid, render_page
from koala.display.drawing import render_svg
from koala.display.graph import build_graph
from koala.errors import KoalaError
from koala.explanation import Evidence, Explanation, Reason
from koala.grid import Grid
from koala.states import Action
from koala.web.schemas import GridValue, ReasonValue


class ExportFormat(StrEnum):
    """What a grid can be written as."""

    JSON = "json"
    TSV = "tsv"
    CSV = "csv"
    HTML = "html"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


TYPES = {
    ExportFormat.JSON: ("application/json", "json"),
    ExportFormat.TSV: ("text/tab-separated-values; charset=utf-8", "tsv"),
    ExportFormat.CSV: ("text/csv; charset=utf-8", "csv"),
    ExportFormat.HTML: ("text/html; charset=utf-8", "html"),
    ExportFormat.MERMAID: ("text/plain; charset=utf-8", "mmd"),
    ExportFormat.DOT: ("text/vnd.graphviz; charset=utf-8", "dot"),
    ExportFormat.SVG: ("image/svg+xml", "svg"),
}
"""The type of the answer, and how the file's name ends."""


def read_shown(value: GridValue) -> Shown:
    """Build a grid from what a request holds, with the reasons if every cell has one."""
    grid = Grid.from_dict(value.model_dump(exclude_none=True))
    reasons = tuple(
        tuple(_read_reason(cell.reason) for cell in entity.steps if cell.reason)
        for entity in value.entities
    )
    is_explained = all(len(row) == len(grid.steps) for row in reasons)
    return Explanation(grid, reasons) if reasons and is_explained else grid


def _read_reason(value: ReasonValue) -> Reason:
    return Reason(
        actions={action: value.actions.get(action.value, 0.0) for action in Action},
        exists=value.exists,
        places=value.places,
        mentions=tuple(value.mentions),
        evidence=tuple(Evidence(**triple.model_dump()) for triple in value.triples),
    )


def export_grids(shown: Sequence[Shown], format: ExportFormat) -> str:
    """Write grids in a format; JSON and the page tell the reasons, too."""
    grids = [grid_of(each) for each in shown]
    match format:
        case ExportFormat.JSON:
            return "".join(each.to_json() + "\n" for each in shown)
        case ExportFormat.TSV:
            return "".join(grid.to_tsv() for grid in grids)
        case ExportFormat.CSV:
            header = Grid("", (), ()).to_csv()
            return header + "".join(grid.to_csv().removeprefix(header) for grid in grids)
        case ExportFormat.HTML:
            return render_page(shown)
        case ExportFormat.MERMAID:
            return render_mermaid(grids)
        case ExportFormat.DOT:
            return render_dot(grids)
        case ExportFormat.SVG:
            return _render_picture(grids)


def _render_picture(grids: Sequence[Grid]) -> str:
    """Draw the graph of a grid as a picture that stands alone."""
    if len(grids) != 1:
        raise KoalaError(f"{len(grids)} grids came; a picture shows one.")
    # The two characters that XML cannot hold and that are left in names made safe for HTML.
    svg = re.sub("[\ufffe\uffff]", "\ufffd", render_svg(build_graph(grids[0])))
    css = files("koala.display").joinpath("page.css").read_text(encoding="utf-8")
    start, _, rest = svg.partition(">")
    start = start.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{start}>\n<style>\n{css}svg {{ background: var(--page); }}\n</style>{rest}"
