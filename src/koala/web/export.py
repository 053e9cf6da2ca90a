"""Grids from a request, and the file formats they can be exported to."""

from collections.abc import Sequence
from enum import StrEnum

from koala.corpora.written import build_written, write_procedures
from koala.display import Shown, convert
from koala.display.marks import grid_of
from koala.display.views import convert_view
from koala.errors import KoalaError
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
    EXAMPLE = "example"


class ExportView(StrEnum):
    """View of a grid, as in `koala.grid.views`."""

    LOCATIONS = "locations"
    STEPS = "steps"
    TIMELINE = "timeline"
    RECIPE = "recipe"


TYPES = {
    ExportFormat.JSON: ("application/json", "json"),
    ExportFormat.TSV: ("text/tab-separated-values; charset=utf-8", "tsv"),
    ExportFormat.CSV: ("text/csv; charset=utf-8", "csv"),
    ExportFormat.HTML: ("text/html; charset=utf-8", "html"),
    ExportFormat.MERMAID: ("text/plain; charset=utf-8", "mmd"),
    ExportFormat.DOT: ("text/vnd.graphviz; charset=utf-8", "dot"),
    ExportFormat.SVG: ("image/svg+xml", "svg"),
    ExportFormat.EXAMPLE: ("text/plain; charset=utf-8", "txt"),
}
"""Content type and file name suffix of each format."""

VIEW_FORMATS = (ExportFormat.JSON, ExportFormat.HTML)


def write_export(
    values: Sequence[GridValue],
    format: ExportFormat,
    *,
    view: ExportView | None = None,
    title: str = "",
    topic: str = "",
) -> str:
    """Write grids in a format; `title` and `topic` (the sub-field) are for examples."""
    shown = [read_shown(value) for value in values]
    grids = [grid_of(each) for each in shown]
    if view is not None:
        if format not in VIEW_FORMATS:
            known = ", ".join(VIEW_FORMATS)
            raise KoalaError(f"A view has the formats {known}; {format.value!r} came.")
        return convert_view(grids, view.value, format.value)
    if format == ExportFormat.EXAMPLE:
        return write_procedures(
            build_written(grid, title=title or grid.id, topic=topic or "examples") for grid in grids
        )
    return convert(shown, format.value)


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
