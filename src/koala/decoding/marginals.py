"""Probabilities of tags and locations of one entity, and the confidence of decoded cells."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Names
from koala.decoding.viterbi import TAGS, find_tag_marginals
from koala.grid import Row
from koala.grid.states import Tag
from koala.network.output import Output, log_softmax

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Marginals:
    """Marginal probabilities of one entity."""

    tags: Floats
    """(steps, tags): over all legal tag sequences."""
    locations: Floats
    """(steps + 1, candidates): given that the entity exists then; row 0 is before step 1."""

    def name_tags(self) -> list[dict[str, float]]:
        """Give the probabilities of the tags by name, for each step."""
        return [
            {tag.value: float(p) for tag, p in zip(TAGS, row, strict=True)} for row in self.tags
        ]

    def name_locations(self, names: Names) -> list[dict[str, float]]:
        """Give the probabilities of the locations by name, for each position.

        Of two candidates with the same name, the first counts.
        """
        first: dict[str, int] = {}
        for number, name in enumerate(names):
            first.setdefault(name, number)
        return [
            {name: float(row[number]) for name, number in first.items()} for row in self.locations
        ]

    def find_confidences(self, row: Row, names: Names) -> tuple[float, ...]:
        """Give the probability of each cell of a decoded row.

        It is the probability of the tag, times that of the new location if the entity is created or
        moves.
        """
        found = []
        for step, (tag, cell) in enumerate(zip(row.tags, row.steps, strict=True)):
            probability = self.tags[step, TAGS.index(tag)]
            if tag in (Tag.C, Tag.M):
                probability *= self.locations[step + 1, names.index(cell.after)]
            found.append(float(probability))
        return tuple(found)


def find_change_marginals(output: Output, index: int) -> Marginals:
    """Give the marginals if tags describe changes, as in ProPara (forward–backward)."""
    locations = np.exp(log_softmax(output.location_scores(index)))
    return Marginals(np.exp(find_tag_marginals(output, index)), locations)
