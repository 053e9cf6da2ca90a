"""Scores → legal tags and places → rows of a grid. No torch here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from koala.grid import Row
from koala.states import (
    FIRST_TAGS,
    LAST_TAGS,
    TRANSITIONS,
    Action,
    Tag,
    actions_from_tags,
    tags_from_actions,
)

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

TAGS = tuple(Tag)
_IMPOSSIBLE = -1e9

Decoding = Literal["legal", "repair"]
"""Viterbi over legal sequences alone, or over all and then repaired by rules."""


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


@dataclass(frozen=True, slots=True)
class Probabilities:
    """What a network thinks of one entity."""

    tags: list[dict[str, float]]
    """Of each step: how probable each tag is, over all legal sequences."""
    places: list[dict[str, float]]
    """Of each position, before step 1 first: how probable each place is, if the entity exists."""


def decode_tags(output: Output, index: int, *, decoding: Decoding = "legal") -> tuple[Tag, ...]:
    """Find the best tag sequence of one entity; it is legal either way."""
    potentials = _find_potentials(output, index, is_legal=decoding == "legal")
    tags = _find_best_path(*potentials)
    return tags if decoding == "legal" else repair_tags(tags)


def repair_tags(tags: Sequence[Tag]) -> tuple[Tag, ...]:
    """Make any tags legal by dropping the changes that cannot happen.

    The first change tells whether the entity exists before step 1. From there on a CREATE of what
    exists, and a MOVE or DESTROY of what does not, count as NONE.
    """
    actions = actions_from_tags(tags)
    first = next((action for action in actions if action != Action.NONE), None)
    exists = tags[0] == Tag.E if first is None else first != Action.CREATE
    kept, exists_now = [], exists
    for action in actions:
        is_possible = action == Action.NONE or (action == Action.CREATE) != exists_now
        kept.append(action if is_possible else Action.NONE)
        if kept[-1] in (Action.CREATE, Action.DESTROY):
            exists_now = kept[-1] == Action.CREATE
    return tags_from_actions(kept, exists=exists)


def decode_places(output: Output, index: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """Give the best place at every position; `names` starts with `?`."""
    best = _place_scores(output, index).argmax(-1)
    return tuple(names[number] for number in best)


def decode_row(
    output: Output, index: int, name: str, names: tuple[str, ...], *, decoding: Decoding = "legal"
) -> Row:
    """Decode one entity into a consistent row.

    As in the paper, a place is read only where the entity begins or moves; a move to where it
    already is, is none.
    """
    tags = decode_tags(output, index, decoding=decoding)
    return Row.from_tags(name, tags, decode_places(output, index, names))


def find_probabilities(output: Output, index: int, names: tuple[str, ...]) -> Probabilities:
    """Give the probability of every tag and every place of one entity."""
    tags = np.exp(find_tag_marginals(output, index))
    places = _softmax(_place_scores(output, index))
    return Probabilities(
        tags=[{tag.value: float(p) for tag, p in zip(TAGS, row, strict=True)} for row in tags],
        places=[{name: float(p) for name, p in zip(names, row, strict=True)} for row in places],
    )


def find_tag_marginals(output: Output, index: int) -> NDArray[np.float64]:
    """Give log P(tag at step) over legal sequences (forward–backward): (steps, tags)."""
    starts, emissions, transitions, ends = _find_potentials(output, index, is_legal=True)
    n_steps = len(emissions)
    forward = np.empty_like(emissions)
    backward = np.empty_like(emissions)
    forward[0] = starts + emissions[0]
    for step in range(1, n_steps):
        # (current_tag, next_tag)
        paths = forward[step - 1][:, None] + transitions
        forward[step] = np.logaddexp.reduce(paths, axis=0) + emissions[step]
    backward[-1] = ends
    for step in reversed(range(n_steps - 1)):
        paths = transitions + (emissions[step + 1] + backward[step + 1])[None, :]
        backward[step] = np.logaddexp.reduce(paths, axis=1)
    joint = forward + backward
    return np.asarray(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


Potentials = tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]


def _find_potentials(output: Output, index: int, *, is_legal: bool) -> Potentials:
    """Give starts (tags), emissions (steps, tags), transitions (tags, tags) and ends (tags)."""
    emissions = output.tags[index, : int(output.n_steps[index])].astype(np.float64)
    starts, ends = output.starts.astype(np.float64), output.ends.astype(np.float64)
    transitions = output.transitions.astype(np.float64)
    if is_legal:
        starts = starts + _barrier([tag in FIRST_TAGS for tag in TAGS])
        ends = ends + _barrier([tag in LAST_TAGS for tag in TAGS])
        # (current_tag, next_tag)
        transitions = transitions + _barrier([[b in TRANSITIONS[a] for b in TAGS] for a in TAGS])
    return starts, emissions, transitions, ends


def _find_best_path(
    starts: NDArray[np.float64],
    emissions: NDArray[np.float64],
    transitions: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> tuple[Tag, ...]:
    """Viterbi."""
    scores = emissions[0] + starts
    back = []
    for emission in emissions[1:]:
        # (current_tag, next_tag)
        paths = scores[:, None] + transitions
        back.append(paths.argmax(0))
        scores = paths.max(0) + emission
    path = [int((scores + ends).argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return tuple(TAGS[tag] for tag in reversed(path))


def _barrier(is_legal: list[bool] | list[list[bool]]) -> NDArray[np.float64]:
    return np.where(np.array(is_legal), 0.0, _IMPOSSIBLE)


def _place_scores(output: Output, index: int) -> Floats:
    """Give (steps + 1, candidates) without padding."""
    n_steps, n_candidates = int(output.n_steps[index]), int(output.n_candidates[index])
    return output.places[index, : n_steps + 1, :n_candidates]


def _softmax(scores: Floats) -> NDArray[np.float64]:
    shifted = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(-1, keepdims=True))
