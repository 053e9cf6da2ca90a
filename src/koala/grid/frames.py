"""Grids as data frames and as networkx graphs; both libraries are optional."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from koala.errors import needs_extra
from koala.grid.grid import Grid
from koala.grid.states import ABSENT, Action

if TYPE_CHECKING:
    import networkx

Library = Literal["pandas", "polars"]


def build_records(grid: Grid) -> list[dict[str, Any]]:
    """Give one record for every entity and step."""
    return [
        {
            "procedure": grid.id,
            "step": number,
            "entity": row.name,
            "action": cell.action.value,
            "before": cell.before,
            "after": cell.after,
            "confidence": cell.confidence,
            "text": grid.steps[number - 1],
        }
        for row in grid.rows
        for number, cell in enumerate(row.steps, 1)
    ]


def to_frame(grids: Grid | Sequence[Grid], library: Library = "pandas") -> Any:  # noqa: ANN401
    """Give grids as a data frame with one line for every entity and step."""
    some = [grids] if isinstance(grids, Grid) else grids
    records = [record for grid in some for record in build_records(grid)]
    with needs_extra("frames", "A data frame"):
        if library == "polars":
            import polars

            return polars.DataFrame(records)
        import pandas

        return pandas.DataFrame(records)


def to_networkx(grid: Grid) -> "networkx.MultiDiGraph":
    """Give the process graph of a grid: locations are nodes, changes of entities are edges.

    Creations start at the node `-`, destructions end there. Edges have `entity`, `step`, `action`
    and `confidence`.
    """
    with needs_extra("frames", "A networkx graph"):
        import networkx
    graph = networkx.MultiDiGraph(id=grid.id)
    for row in grid.rows:
        graph.add_nodes_from(row.locations)
        for number, cell in enumerate(row.steps, 1):
            if cell.action != Action.NONE:
                graph.add_edge(
                    cell.before,
                    cell.after,
                    entity=row.name,
                    step=number,
                    action=cell.action.value,
                    confidence=cell.confidence,
                )
    if ABSENT in graph and not graph.degree(ABSENT):
        graph.remove_node(ABSENT)
    return graph
