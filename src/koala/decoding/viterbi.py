"""Viterbi decoding over legal tag sequences, repair rules, and tag marginals."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Decoding, Names
from koala.grid import Row
from koala.grid.states import (
    ABSENT,
    FIRST_TAGS,
    TRANSITIONS,
    Action,
    Tag,
    actions_from_tags,
    find_last_tags,
    find_presence,
    tags_from_actions,
)
from koala.network.output import Output

TAGS = tuple(Tag)
IMPOSSIBLE = -1e9

Potentials = tuple[
    NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]


def find_potentials(output: Output, index: int, *, is_legal: bool) -> Potentials:
    """Give starts (tags), emissions (steps, tags), transitions (tags, tags) and ends (tags)."""
    emissions = output.tags[index, : int(output.n_steps[index])].astype(np.float64)
    starts, ends = output.starts.astype(np.float64), output.ends.astype(np.float64)
    transitions = output.transitions.astype(np.float64)
    if is_legal:
        starts = starts + _barrier([tag in FIRST_TAGS for tag in TAGS])
        last = find_last_tags(may_be_absent=output.may_be_absent)
        ends = ends + _barrier([tag in last for tag in TAGS])
        # (current_tag, next_tag)
        transitions = transitions + _barrier([[b in TRANSITIONS[a] for b in TAGS] for a in TAGS])
    return starts, emissions, transitions, ends


def decode_tags(output: Output, index: int, *, is_repaired: bool = False) -> tuple[Tag, ...]:
    """Find the best tag sequence of one entity (Viterbi).

    Only legal sequences are looked at; or all, and what is illegal is repaired by rules.
    """
    tags = _find_best_path(*find_potentials(output, index, is_legal=not is_repaired))
    return repair_tags(tags) if is_repaired else tags


def decode_row(
    output: Output, index: int, name: str, names: Names, *, decoding: Decoding = "viterbi"
) -> Row:
    """Decode one entity into a consistent row.

    As in the paper, a location is read only where the entity begins or moves; a move to the present
    location is no move. With `presence`, the locations of all positions are read, and tags say only
    whether the entity exists: the paper's two states of Recipes.
    """
    tags = decode_tags(output, index, is_repaired=decoding == "repair")
    best = [names[number] for number in output.location_scores(index).argmax(-1)]
    if decoding == "presence":
        pairs = zip(best, find_presence(tags), strict=True)
        return Row.from_locations(name, [place if exists else ABSENT for place, exists in pairs])
    return Row.from_tags(name, tags, best)


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


def find_tag_marginals(output: Output, index: int) -> NDArray[np.float64]:
    """Give log P(tag at step) over legal sequences (forward–backward): (steps, tags)."""
    starts, emissions, transitions, ends = find_potentials(output, index, is_legal=True)
    forward = add_forward(starts, emissions, transitions)
    backward = np.empty_like(emissions)
    backward[-1] = ends
    for step in reversed(range(len(emissions) - 1)):
        paths = transitions + (emissions[step + 1] + backward[step + 1])[None, :]
        backward[step] = np.logaddexp.reduce(paths, axis=1)
    joint = forward + backward
    return np.asarray(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


def add_forward(
    starts: NDArray[np.float64], emissions: NDArray[np.float64], transitions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up all sequences that lead to each tag, in logarithms: (steps, tags)."""
    forward = np.empty_like(emissions)
    forward[0] = starts + emissions[0]
    for step in range(1, len(emissions)):
        # (current_tag, next_tag)
        paths = forward[step - 1][:, None] + transitions
        forward[step] = np.logaddexp.reduce(paths, axis=0) + emissions[step]
    return forward


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
    return np.where(np.array(is_legal), 0.0, IMPOSSIBLE)
