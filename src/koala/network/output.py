"""What a network says, in plain arrays; the seam between networks and decoding."""

from collections.abc import Sequence
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
    locations: Floats
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
    may_be_absent: bool = False
    """Whether an entity may be absent from the first step to the last."""

    def __len__(self) -> int:
        """Count the entities."""
        return len(self.tags)

    def take(self, start: int, stop: int) -> "Output":
        """Give the scores of some neighbouring entities."""
        rows = slice(start, stop)
        return replace(
            self,
            tags=self.tags[rows],
            locations=self.locations[rows],
            n_steps=self.n_steps[rows],
            n_candidates=self.n_candidates[rows],
            attention=None if self.attention is None else self.attention[rows],
        )

    def location_scores(self, index: int) -> Floats:
        """Give the place scores of one entity without padding: (steps + 1, candidates)."""
        n_steps, n_candidates = int(self.n_steps[index]), int(self.n_candidates[index])
        return self.locations[index, : n_steps + 1, :n_candidates]

    def with_temperatures(self, tags: float, locations: float) -> "Output":
        """Divide the scores of tags and places by temperatures: the best stays the best."""
        return replace(
            self,
            tags=self.tags / np.float32(tags),
            transitions=self.transitions / np.float32(tags),
            starts=self.starts / np.float32(tags),
            ends=self.ends / np.float32(tags),
            # Padding has the lowest number there is: divided, it would be none.
            locations=np.asarray(self.locations.clip(min=-1e30) / locations, dtype=np.float32),
        )


def average_outputs(outputs: Sequence[Output]) -> Output:
    """Average what several networks say of the same entities: the scores of whole tag sequences,
    and the log probabilities of places. Attention is that of the networks that have it.
    """
    attention = [output.attention for output in outputs if output.attention is not None]
    return replace(
        outputs[0],
        tags=_mean([output.tags for output in outputs]),
        transitions=_mean([output.transitions for output in outputs]),
        starts=_mean([output.starts for output in outputs]),
        ends=_mean([output.ends for output in outputs]),
        locations=_mean([_normalize(output.locations) for output in outputs]),
        attention=_mean(attention) if attention else None,
    )


def _mean(arrays: Sequence[Floats]) -> Floats:
    # In 64 bits: the lowest 32-bit number, which stands for impossible, must not overflow.
    return np.asarray(np.mean(arrays, axis=0, dtype=np.float64), dtype=np.float32)


def _normalize(scores: Floats) -> Floats:
    # Padding keeps a number that may be divided.
    return np.asarray(np.maximum(log_softmax(scores), -1e30), dtype=np.float32)


def log_softmax(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Give log probabilities along the last axis, in 64 bits."""
    shifted = scores.astype(np.float64) - scores.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))
