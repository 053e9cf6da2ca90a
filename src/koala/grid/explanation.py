"""Explanation: probabilities, mentions and triples behind each cell of a grid, as plain values."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from koala.grid import Grid
from koala.grid.states import Action


@dataclass(frozen=True, slots=True)
class Evidence:
    """A triple that the network read for an entity, with its attention weight at a step."""

    head: str
    relation: str
    tail: str
    sentence: str
    """The triple in English: `leaf is a part of plant`."""
    weight: float
    """Attention weight; the weights of all triples of a step add up to 1."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for one cell."""

    actions: Mapping[Action, float]
    """Probability of each action at this step, over all consistent trajectories; the sum is 1."""
    exists: float
    """Probability that the entity exists after the step."""
    locations: Mapping[str, float]
    """Probability of the most probable locations after the step, given that the entity exists then;
    best first."""
    mentions: tuple[tuple[int, int], ...]
    """Where the step's text names the entity: start and end offsets in characters."""
    evidence: tuple[Evidence, ...] = ()
    """Triples read for the entity, the most attended first; empty without knowledge."""

    def to_dict(self) -> dict[str, Any]:
        """Give the reason as plain values, in the shape of the JSON output."""
        return {
            "actions": {action.value: value for action, value in self.actions.items()},
            "exists": self.exists,
            "locations": dict(self.locations),
            "mentions": [list(mention) for mention in self.mentions],
            "triples": [asdict(each) for each in self.evidence],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """A grid with a reason for every cell."""

    grid: Grid
    reasons: tuple[tuple[Reason, ...], ...]
    """For each row of the grid, the reasons of its steps."""

    def to_dict(self) -> dict[str, Any]:
        """Give the grid's JSON shape, with `reason` added to every step of every entity."""
        value = self.grid.to_dict()
        for entity, reasons in zip(value["entities"], self.reasons, strict=True):
            for step, reason in zip(entity["steps"], reasons, strict=True):
                step["reason"] = reason.to_dict()
        return value

    def to_json(self) -> str:
        """Give the explanation as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def _repr_html_(self) -> str:
        """Show the grid with its reasons in a notebook."""
        # Through the public name, because display builds upon grids.
        import koala

        return koala.render(self, "notebook")
