"""Location reranker: corrects a network's location probabilities with features of the text.

A network scores locations by the vectors of their mentions. It often misses what the words say
plainly: nothing is inside itself; an entity that comes "from the lake" has left it; one that goes
"into the lake" is there. The reranker is a log-linear model on top of the network's probabilities,

    p(location) ∝ p_network(location) ** w · exp(θ · f(location)),

with features f of a location at a position, for an entity (`koala.decoding.location_features`).
`koala calibrate` fits w and θ; the card of a model holds them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from koala.decoding.location_features import FEATURES, Fact, read_locations
from koala.document import Procedure
from koala.network.output import Output, log_softmax

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LocationReranker:
    """The weights of the log-linear model."""

    network: float
    """w, the exponent of the network's probability."""
    weights: Mapping[str, float]
    """θ, by feature."""

    def rerank(self, output: Output, procedure: Procedure, entities: Sequence[int]) -> Output:
        """Correct the location scores of some entities of a procedure.

        `output` holds the temperature-scaled scores of these entities, in the same order.
        """
        locations, text = output.locations.copy(), read_locations(procedure)
        shared = self._weigh(text.shared, text.n_positions)
        for index, entity in enumerate(entities):
            corrections = shared + self._weigh(text.describe(entity), text.n_positions)
            scores = self.network * log_softmax(output.location_scores(index)) + corrections
            locations[index, : scores.shape[0], : scores.shape[1]] = scores
        return replace(output, locations=locations)

    def _weigh(self, facts: Sequence[Sequence[Fact]], n_positions: int) -> Floats:
        """Give θ · f: (steps + 1, candidates)."""
        scores = np.zeros((n_positions, len(facts)))
        for number, own in enumerate(facts):
            for name, positions, value in own:
                scores[positions, number] += self.weights[name] * value
        return scores

    def to_dict(self) -> dict[str, float]:
        """Give plain values for a card; w is called `network`."""
        return {"network": self.network, **self.weights}

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> "LocationReranker":
        """Read the output of `to_dict`; a missing weight is 0."""
        weights = {name: float(values.get(name, 0.0)) for name in FEATURES}
        return cls(float(values.get("network", 1.0)), weights)
