"""Grids from a request, and the file formats they can be exported to."""

from enum import StrEnum

from koala.display import Shown
from koala.grid import Grid
from koala.grid.explanation import Evidence, Explanation, Reason
from koala.grid.states import Action
from koala.web.schemas import GridValue, ReasonValue


class ExportFormat(StrEnum):
    """File format of an exported grid."""

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
"""Content type and file name suffix of each format."""


def read_shown(value: GridValue) -> Shown:
    """Build the grid of a request, as an explanation if every cell has a reason."""
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
        locations=value.locations,
        mentions=tuple(value.mentions),
        evidence=tuple(Evidence(**triple.model_dump()) for triple in value.triples),
    )
