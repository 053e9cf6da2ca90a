"""Scores → legal tags and places → rows of a grid. No torch here."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koala.grid import Row
from koala.states import FIRST_TAGS, LAST_TAGS, TRANSITIONS, Tag

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

TAGS = tuple(Tag)
_IMPOSSIBLE = -1e9


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


def decode_tags(output: Output, index: int) -> tuple[Tag, ...]:
    """Find the best legal tag sequence of one entity (Viterbi)."""
    n_steps = int(output.n_steps[index])
    emissions = output.tags[index, :n_steps].astype(np.float64)
    # (current_tag, next_tag)
    transitions = output.transitions + _barrier([[b in TRANSITIONS[a] for b in TAGS] for a in TAGS])
    scores = emissions[0] + output.starts + _barrier([tag in FIRST_TAGS for tag in TAGS])
    back = []
    for step in range(1, n_steps):
        # (current_tag, next_tag)
        paths = scores[:, None] + transitions
        back.append(paths.argmax(0))
        scores = paths.max(0) + emissions[step]
    best = int((scores + output.ends + _barrier([tag in LAST_TAGS for tag in TAGS])).argmax())
    path = [best]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return tuple(TAGS[tag] for tag in reversed(path))


def _barrier(is_legal: list[bool] | list[list[bool]]) -> NDArray[np.float64]:
    return np.where(np.array(is_legal), 0.0, _IMPOSSIBLE)


def decode_places(output: Output, index: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Give the best place at every position; `names` starts with `?`."""
    n_steps, n_candidates = int(output.n_steps[index]), int(output.n_candidates[index])
    best = output.places[index, : n_steps + 1, :n_candidates].argmax(-1)
    return tuple(names[number] for number in best)


def decode_row(output: Output, index: int, name: str, names: tuple[str, ...]) -> Row:
    """Decode one entity into a consistent row.

    As in the paper, a place is read only where the entity begins or moves; a move to where it
    already is, is none.
    """
    tags = decode_tags(output, index)
    return Row.from_tags(name, tags, decode_places(output, index, names))
