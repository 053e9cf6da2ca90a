"""Training targets: gold tags, locations and triple relevance as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koala.grid.states import ABSENT, UNKNOWN, Tag
from koala.inputs.arrays import count_triples
from koala.inputs.examples import STAYS, Item

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TAGS = tuple(Tag)
"""The order of tags in every array."""

IGNORED = -1
"""Target that no loss counts: the entity is absent, or its location is not a candidate."""


@dataclass(frozen=True, slots=True)
class Gold:
    """Targets of a batch; only losses read them."""

    tags: Ints
    """(batch, steps): indices into TAGS."""
    locations: Ints
    """(batch, steps + 1): index of the candidate, or IGNORED."""
    may_stay: Bools
    """(batch, steps + 1): whether candidate 0 is also correct."""
    state_relevance: Bools
    """(batch, steps, triples)"""
    location_relevance: Bools
    """(batch, steps, triples)"""


def build_gold(items: Sequence[Item]) -> Gold:
    """Build the targets of some entities; all must have gold rows."""
    n_steps = max(len(item.procedure.steps) for item in items)
    n_triples = count_triples(items)
    tags = np.zeros((len(items), n_steps), dtype=np.int64)
    locations = np.full((len(items), n_steps + 1), IGNORED, dtype=np.int64)
    may_stay = np.zeros(locations.shape, dtype=np.bool_)
    relevance = np.zeros((2, len(items), n_steps, n_triples), dtype=np.bool_)
    for row, item in enumerate(items):
        found = item.tags
        tags[row, : len(found)] = [TAGS.index(tag) for tag in found]
        may_stay[row], locations[row] = _find_locations(item, n_steps + 1)
        if item.relevance is not None:
            steps, triples = item.relevance.states.shape
            relevance[0, row, :steps, :triples] = item.relevance.states
            relevance[1, row, :steps, :triples] = item.relevance.locations
    return Gold(tags, locations, may_stay, relevance[0], relevance[1])


def _find_locations(item: Item, n_positions: int) -> tuple[Bools, Ints]:
    """Return `may_stay` and `locations` of one entity, as in Gold."""
    index = {c.name: number for number, c in enumerate(item.procedure.candidates, 1)}
    locations = np.full(n_positions, IGNORED, dtype=np.int64)
    may_stay = np.zeros(n_positions, dtype=np.bool_)
    if item.participation is None:
        index |= {UNKNOWN: 0, ABSENT: IGNORED}
        gold = item.gold.locations if item.gold else ()
        locations[: len(gold)] = [index.get(name, IGNORED) for name in gold]
        return may_stay, locations
    for position, names in enumerate(item.participation.locations, 1):
        if item.participation.steps[position - 1]:
            may_stay[position] = STAYS in names
            known = [index[name] for name in names - {STAYS} if name in index]
            default = 0 if may_stay[position] else IGNORED
            locations[position] = known[0] if known else default
    return may_stay, locations
