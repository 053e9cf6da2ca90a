"""States and places together, over the whole procedure.

The paper reads a place only where the state tracker lets one begin. Here every position where the
entity exists has a say, and what cannot be is never chosen: an entity that does not move stays, a
move leads elsewhere. The score of a life is that of its tags, less `weight` times what the place at
each position has less than the best one there; the best life is found by dynamic programming.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koala.decoding.output import Output
from koala.decoding.tags import IMPOSSIBLE, TAGS, find_potentials
from koala.states import Tag

Scores = NDArray[np.float64]

_O_C, _C, _E, _M, _D, _O_D = (TAGS.index(tag) for tag in Tag)
_ABSENT = (_O_C, _D, _O_D)
_THERE_BEFORE = (_E, _M, _D)
_NOWHERE = 0
"""The column of what has no place; candidate j has column j + 1."""


@dataclass(frozen=True, slots=True)
class Life:
    """Tags of all steps, and the candidate at each position, −1 where the entity is absent."""

    tags: tuple[Tag, ...]
    places: tuple[int, ...]
    score: float


def decode_life(output: Output, index: int, *, weight: float = 1.0) -> Life:
    """Find the best life of one entity."""
    starts, emissions, transitions, ends = find_potentials(output, index, is_legal=True)
    places = output.place_scores(index).astype(np.float64)
    # Against the best place of a position: to exist must cost nothing, or lives would be short.
    places = weight * (places - places.max(-1, keepdims=True))
    n_steps, n_candidates = len(emissions), places.shape[1]
    # (tags, columns): the best life so far that ends in this tag and place
    best = np.full((len(TAGS), n_candidates + 1), IMPOSSIBLE)
    pointers: list[NDArray[np.int64]] = []
    for step in range(n_steps):
        new = np.full_like(best, IMPOSSIBLE)
        origin = np.zeros((*best.shape, 2), dtype=np.int64)
        for tag in range(len(TAGS)):
            ways = _begin(tag, starts, places[0]) if step == 0 else best + transitions[:, tag, None]
            for column, (score, source) in _arrive(tag, ways).items():
                gain = places[step + 1, column - 1] if column != _NOWHERE else 0.0
                new[tag, column] = score + gain + emissions[step, tag]
                origin[tag, column] = source
        best = new
        pointers.append(origin)
    return _trace(best + ends[:, None], pointers)


def _begin(tag: int, starts: Scores, places: Scores) -> Scores:
    """Give the ways to a first tag, one row: what exists before step 1 has a place, else none."""
    ways = np.full((1, len(places) + 1), IMPOSSIBLE)
    if tag in _THERE_BEFORE:
        ways[0, _NOWHERE + 1 :] = starts[tag] + places
    else:
        ways[0, _NOWHERE] = starts[tag]
    return ways


def _arrive(tag: int, ways: Scores) -> dict[int, tuple[float, tuple[int, int]]]:
    """Give, for every column a tag may lead to, the best way there and where it comes from."""
    from_tag = ways.argmax(0)
    # (columns,): the best over tags for each column it may come from
    reached = ways.max(0)
    n_columns = len(reached)

    def source(column: int) -> tuple[int, int]:
        return int(from_tag[column]), column

    if tag in _ABSENT:
        column = int(reached.argmax())
        return {_NOWHERE: (float(reached[column]), source(column))}
    if tag == _C:
        # Created out of nothing: the same way leads to every place.
        return {
            column: (float(reached[_NOWHERE]), source(_NOWHERE)) for column in range(1, n_columns)
        }
    if tag == _E:
        return {column: (float(reached[column]), source(column)) for column in range(1, n_columns)}
    # Moved: from the best other place.
    found = {}
    order = [int(c) for c in np.argsort(-reached[1:], kind="stable")[:2] + 1]
    for column in range(1, n_columns):
        other = next((c for c in order if c != column), None)
        if other is not None:
            found[column] = (float(reached[other]), source(other))
    return found


def _trace(best: Scores, pointers: list[NDArray[np.int64]]) -> Life:
    tag, column = (int(i) for i in np.unravel_index(int(best.argmax()), best.shape))
    score = float(best[tag, column])
    tags, places = [], []
    for origin in reversed(pointers):
        tags.append(TAGS[tag])
        places.append(column - 1)
        tag, column = (int(i) for i in origin[tag, column])
    places.append(column - 1)
    return Life(tuple(reversed(tags)), tuple(reversed(places)), score)
