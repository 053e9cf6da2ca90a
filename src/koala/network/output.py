"""The output of a network in numpy arrays: the interface between networks and decoding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Output:
    """Scores of a batch of entities."""

    tags: Floats
    """(batch, steps, tags): emission scores."""
    locations: Floats
    """(batch, steps + 1, candidates): location scores; candidate 0 is `?`."""
    transitions: Floats
    """(tags, tags): CRF scores from the current tag to the next."""
    starts: Floats
    """(tags,): CRF scores of the first tag."""
    ends: Floats
    """(tags,): CRF scores of the last tag."""
    n_steps: Ints
    """(batch,): steps of each entity's procedure."""
    n_candidates: Ints
    """(batch,): location candidates of each entity, including `?`."""
    attention: Floats | None = None
    """(batch, steps, triples): attention of the state tracker to each triple."""
    location_attention: Floats | None = None
    """(batch, candidates, steps + 1, triples): attention of the location predictor to each triple,
    by the candidate that asks. Exported networks do not give it."""
    may_be_absent: bool = False
    """Whether an entity may be absent from the first step to the last."""

    def __len__(self) -> int:
        """Count the entities."""
        return len(self.tags)

    def take(self, start: int, stop: int) -> "Output":
        """Give the scores of the entities from `start` to before `stop`."""
        rows = slice(start, stop)
        return replace(
            self,
            tags=self.tags[rows],
            locations=self.locations[rows],
            n_steps=self.n_steps[rows],
            n_candidates=self.n_candidates[rows],
            attention=_take(self.attention, rows),
            location_attention=_take(self.location_attention, rows),
        )

    def location_scores(self, index: int) -> Floats:
        """Give the location scores of one entity without padding: (steps + 1, candidates)."""
        n_steps, n_candidates = int(self.n_steps[index]), int(self.n_candidates[index])
        return self.locations[index, : n_steps + 1, :n_candidates]

    def with_temperatures(self, tags: float, locations: float) -> "Output":
        """Divide tag and location scores by their temperatures; this keeps their order."""
        return replace(
            self,
            tags=self.tags / np.float32(tags),
            transitions=self.transitions / np.float32(tags),
            starts=self.starts / np.float32(tags),
            ends=self.ends / np.float32(tags),
            # Padding is the lowest float32, which overflows when it is divided by less than 1.
            locations=np.asarray(self.locations.clip(min=-1e30) / locations, dtype=np.float32),
        )


def average_outputs(outputs: Sequence[Output]) -> Output:
    """Average the outputs of several networks for the same entities.

    Tag and CRF scores are averaged as they are, locations as log probabilities, attention over the
    networks that have it.
    """
    return replace(
        outputs[0],
        tags=_mean([output.tags for output in outputs]),
        transitions=_mean([output.transitions for output in outputs]),
        starts=_mean([output.starts for output in outputs]),
        ends=_mean([output.ends for output in outputs]),
        locations=_mean([_normalize(output.locations) for output in outputs]),
        attention=_mean_known([output.attention for output in outputs]),
        location_attention=_mean_known([output.location_attention for output in outputs]),
    )


def _take(array: Floats | None, rows: slice) -> Floats | None:
    return None if array is None else array[rows]


def _mean_known(arrays: Sequence[Floats | None]) -> Floats | None:
    known = [array for array in arrays if array is not None]
    return _mean(known) if known else None


def _mean(arrays: Sequence[Floats]) -> Floats:
    # In float64, because padding is the lowest float32: its sum would overflow.
    return np.asarray(np.mean(arrays, axis=0, dtype=np.float64), dtype=np.float32)


def _normalize(scores: Floats) -> Floats:
    # Clipped, so that padding can still be divided by a temperature.
    return np.asarray(np.maximum(log_softmax(scores), -1e30), dtype=np.float32)


def log_softmax(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Give log probabilities along the last axis, in float64."""
    shifted = scores.astype(np.float64) - scores.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))
