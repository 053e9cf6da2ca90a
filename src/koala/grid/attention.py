"""Attention: how much a network attends to each triple of an entity, as plain values."""

from dataclasses import asdict, dataclass
from typing import Any

from koala.grid.rows import Row

Weights = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Attention:
    """The attention of one network to the triples of one entity, and the row that it predicts."""

    row: Row
    """The predicted row."""
    triples: tuple[str, ...]
    """The triples in English, in the order of retrieval."""
    states: Weights
    """For each step, the weight of each triple in the state tracker."""
    asked: tuple[str, ...]
    """For each position, from before step 1 on, the location candidate whose attention is in
    `locations`; `-` where the entity does not exist."""
    locations: Weights
    """For each position, the weight of each triple in the location predictor; empty where the
    entity does not exist."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, for JSON."""
        values = asdict(self)
        del values["row"]
        steps = [
            {"action": cell.action.value, "before": cell.before, "after": cell.after}
            for cell in self.row.steps
        ]
        return {"entity": self.row.name, "steps": steps, **values}
