"""Calibration of a network: temperatures, location rerankers, cross-entity consistency."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from koala.decoding.location_reranker import LocationReranker
from koala.document import CONVENTIONS, Convention, Procedure
from koala.files import parse_json, read_text
from koala.inputs.examples import Item
from koala.network.output import Output

Temperatures = tuple[float, float]
"""Temperature of tags, temperature of locations."""

_NEUTRAL: Temperatures = (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Numbers, fitted after training, that correct a network's probabilities.

    The default changes nothing.
    """

    temperatures: Mapping[Convention, Temperatures] = field(default_factory=dict)
    rerankers: Mapping[Convention, LocationReranker] = field(default_factory=dict)
    consistency: Mapping[str, float] = field(default_factory=dict)
    """Weights of `koala.decoding.mbr.consistency`; if empty, entities are independent."""

    @classmethod
    def with_temperatures(cls, temperatures: Temperatures) -> "Calibration":
        """Use the same temperatures for every annotation convention, and nothing else."""
        return cls(dict.fromkeys(CONVENTIONS, temperatures))

    def scale(self, output: Output, procedure: Procedure) -> Output:
        """Divide scores by the temperatures of the procedure's annotation convention."""
        temperatures = self.temperatures.get(procedure.convention, _NEUTRAL)
        return output if temperatures == _NEUTRAL else output.with_temperatures(*temperatures)

    def apply(self, output: Output, items: Sequence[Item]) -> Output:
        """Scale the scores of entities of one procedure, then rerank their locations."""
        procedure = items[0].procedure
        scaled = self.scale(output, procedure)
        reranker = self.rerankers.get(procedure.convention)
        if reranker is None:
            return scaled
        return reranker.rerank(scaled, procedure, [item.entity for item in items])

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for the card of a model."""
        return {
            "temperatures": {name: list(pair) for name, pair in self.temperatures.items()},
            "rerankers": {name: each.to_dict() for name, each in self.rerankers.items()},
            "consistency": dict(self.consistency),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Calibration":
        """Read the output of `to_dict`."""
        rerankers = values.get("rerankers", {})
        return cls(
            {name: (pair[0], pair[1]) for name, pair in values.get("temperatures", {}).items()},
            {name: LocationReranker.from_dict(each) for name, each in rerankers.items()},
            dict(values.get("consistency", {})),
        )


def read_calibration(path: Path) -> Calibration:
    """Read a calibration file."""
    return Calibration.from_dict(parse_json(read_text(path)))
