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
from koala.network.output import Output, log_softmax

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

    The search is over legal sequences; with `is_repaired` over all, and rules then make the result
    legal.
    """
    tags = _find_best_path(*find_potentials(output, index, is_legal=not is_repaired))
    return repair_tags(tags) if is_repaired else tags


def decode_row(
    output: Output, index: int, name: str, names: Names, *, decoding: Decoding = "viterbi"
) -> Row:
    """Decode one entity into a consistent row.

    As in the paper, a location is read only where the entity begins or moves. With `presence`, the
    location of every position is read, and tags say only whether the entity exists: the paper's two
    states for Recipes.
    """
    tags = decode_tags(output, index, is_repaired=decoding == "repair")
    scores = output.location_scores(index)
    if decoding == "presence":
        pairs = zip(scores.argmax(-1), find_presence(tags), strict=True)
        return Row.from_locations(name, [names[n] if exists else ABSENT for n, exists in pairs])
    return Row.from_tags(name, tags, [names[n] for n in choose_locations(tags, scores)])


def choose_locations(tags: Sequence[Tag], scores: NDArray[np.floating]) -> list[int]:
    """Choose the best locations (positions,) under the rule that a move changes the location.

    Shape: scores (steps + 1, candidates). A location is chosen for position 0 and wherever the tags
    create or move the entity; at the other positions it is the best by itself.
    """
    chosen = [int(n) for n in scores.argmax(-1)]
    log_probabilities = log_softmax(scores)
    # The best score of all choices so far, by the location that the entity has now.
    best = log_probabilities[0]
    positions, back = [0], []
    for position, tag in enumerate(tags, 1):
        if tag not in (Tag.C, Tag.M):
            continue
        first = int(best.argmax())
        before = np.full(len(best), first)
        if tag == Tag.M and len(best) > 1:
            # The best location before the move is the best of all but the new one.
            before[first] = int(
                np.delete(np.arange(len(best)), first)[np.delete(best, first).argmax()]
            )
        back.append(before)
        best = best[before] + log_probabilities[position]
        positions.append(position)
    number = int(best.argmax())
    for position, before in zip(reversed(positions), [*reversed(back), None], strict=True):
        chosen[position] = number
        number = int(before[number]) if before is not None else number
    return chosen


def repair_tags(tags: Sequence[Tag]) -> tuple[Tag, ...]:
    """Make any tag sequence legal by dropping the changes that cannot happen.

    The first change decides whether the entity exists before step 1. From there on, a CREATE counts
    as NONE if the entity exists, a MOVE or DESTROY if it does not.
    """
    actions = actions_from_tags(tags)
    first = next((action for action in actions if action != Action.NONE), None)
    exists = tags[0] == Tag.E if first is None else first != Action.CREATE
    repaired, exists_now = [], exists
    for action in actions:
        is_possible = action == Action.NONE or (action == Action.CREATE) != exists_now
        repaired.append(action if is_possible else Action.NONE)
        if repaired[-1] in (Action.CREATE, Action.DESTROY):
            exists_now = repaired[-1] == Action.CREATE
    return tags_from_actions(repaired, exists=exists)


def find_tag_marginals(output: Output, index: int) -> NDArray[np.float64]:
    """Give log P(tag at step) over legal sequences (forward–backward): (steps, tags)."""
    starts, emissions, transitions, ends = find_potentials(output, index, is_legal=True)
    forward = find_forward(starts, emissions, transitions)
    backward = np.empty_like(emissions)
    backward[-1] = ends
    for step in reversed(range(len(emissions) - 1)):
        paths = transitions + (emissions[step + 1] + backward[step + 1])[None, :]
        backward[step] = np.logaddexp.reduce(paths, axis=1)
    joint = forward + backward
    return np.asarray(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


def find_forward(
    starts: NDArray[np.float64], emissions: NDArray[np.float64], transitions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the log sum over all sequences that end in each tag at each step: (steps, tags)."""
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
    """Run Viterbi over the given potentials."""
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
    """Give scores to add: 0 if legal, else IMPOSSIBLE."""
    return np.where(np.array(is_legal), 0.0, IMPOSSIBLE)
