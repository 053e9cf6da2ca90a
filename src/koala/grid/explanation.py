"""Explanation: why each cell of a grid is what it is, as plain values that a person can check."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from koala.grid import Grid
from koala.grid.states import Action


@dataclass(frozen=True, slots=True)
class Evidence:
    """A triple that was read for an entity, and how much it was attended to at a step."""

    head: str
    relation: str
    tail: str
    sentence: str
    """The triple in English: `leaf is a part of plant`."""
    weight: float
    """Its share of the attention; all triples of a step together have 1."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What speaks for a cell."""

    actions: Mapping[Action, float]
    """How probable each action is at this step, over all consistent rows; the sum is 1."""
    exists: float
    """How probable it is that the entity exists after the step."""
    locations: Mapping[str, float]
    """The most probable places after the step if the entity exists then, best first."""
    mentions: tuple[tuple[int, int], ...]
    """Where the step's text names the entity: offsets of characters, start and end."""
    evidence: tuple[Evidence, ...] = ()
    """What was known of the entity, the most attended first; empty without knowledge."""

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, as they stand in JSON."""
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
    """By entity, in the order of the grid's rows, and step."""

    def to_dict(self) -> dict[str, Any]:
        """Give the grid's own JSON shape, with `reason` in every step of every entity."""
        value = self.grid.to_dict()
        for entity, reasons in zip(value["entities"], self.reasons, strict=True):
            for step, reason in zip(entity["steps"], reasons, strict=True):
                step["reason"] = reason.to_dict()
        return value

    def to_json(self) -> str:
        """Give the explanation as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)
