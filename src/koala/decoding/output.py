"""What a network says, in plain arrays; the seam between networks and decoding."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Output:
    """What a network says of a batch of entities."""

    tags: Floats
    """(batch, steps, tags): emission scores."""
    places: Floats
    """(batch, steps + 1, candidates): place scores; candidate 0 is `?`."""
    transitions: Floats
    """(tags, tags): from the current to the next tag."""
    starts: Floats
    """(tags,)"""
    ends: Floats
    """(tags,)"""
    n_steps: Ints
    """(batch,)"""
    n_candidates: Ints
    """(batch,)"""
    attention: Floats | None = None
    """(batch, steps, triples): how much the state tracker read each triple."""

    def place_scores(self, index: int) -> Floats:
        """Give the place scores of one entity without padding: (steps + 1, candidates)."""
        n_steps, n_candidates = int(self.n_steps[index]), int(self.n_candidates[index])
        return self.places[index, : n_steps + 1, :n_candidates]

    def cool(self, tags: float, places: float) -> "Output":
        """Divide the scores of tags and places by temperatures: the best stays the best."""
        return replace(
            self,
            tags=self.tags / np.float32(tags),
            transitions=self.transitions / np.float32(tags),
            starts=self.starts / np.float32(tags),
            ends=self.ends / np.float32(tags),
            # Padding has the lowest number there is: divided, it would be none.
            places=np.asarray(self.places.clip(min=-1e30) / places, dtype=np.float32),
        )
