"""Scores → legal tags and places → rows of a grid. No torch here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from koala.decoding.output import Output, average_outputs, log_softmax
from koala.decoding.tags import TAGS, decode_tags, find_tag_marginals
from koala.decoding.together import decode_together, find_locations
from koala.grid import Row
from koala.states import ABSENT, Tag, find_presence

__all__ = [
    "Decoding",
    "Output",
    "Probabilities",
    "average_outputs",
    "decode_row",
    "decode_rows",
    "find_confidences",
    "find_probabilities",
]

Decoding = Literal["legal", "repair", "places", "together", "expected"]
"""Viterbi over legal sequences alone; over all and then repaired by rules; over legal ones that say
only whether an entity is there, the places then where it is; or all ingredients of a recipe
together. Where the expected score decides, `koala.consensus` goes on from
legal rows."""


@dataclass(frozen=True, slots=True)
class Probabilities:
    """What a network thinks of one entity."""

    tags: list[dict[str, float]]
    """Of each step: how probable each tag is, over all legal sequences."""
    places: list[dict[str, float]]
    """Of each position, before step 1 first: how probable each place is, if the entity exists."""


def decode_rows(
    output: Output,
    indices: Sequence[int],
    entities: Sequence[str],
    names: tuple[str, ...],
    *,
    decoding: Decoding = "legal",
) -> list[Row]:
    """Decode all entities of a procedure, each alone or all together."""
    if decoding != "together":
        return [
            decode_row(output, index, name, names, decoding=decoding)
            for index, name in zip(indices, entities, strict=True)
        ]
    found = decode_together(output, indices)
    return [
        Row.from_locations(name, [names[place] if place >= 0 else ABSENT for place in row])
        for name, row in zip(entities, found, strict=True)
    ]


def decode_row(
    output: Output,
    index: int,
    name: str,
    names: tuple[str, ...],
    *,
    decoding: Decoding = "legal",
) -> Row:
    """Decode one entity into a consistent row; `names` are the candidates', `?` first.

    As in the paper, a place is read only where the entity begins or moves; a move to where it
    already is, is none. With `places` the locations of all positions are read, and tags say no more
    than absent or present, the paper's two states of Recipes.
    """
    tags = decode_tags(output, index, is_repaired=decoding == "repair")
    best = [names[number] for number in output.place_scores(index).argmax(-1)]
    if decoding == "places":
        is_there = find_presence(tags)
        places = zip(best, is_there, strict=True)
        return Row.from_locations(name, [place if there else ABSENT for place, there in places])
    return Row.from_tags(name, tags, best)


def find_confidences(
    output: Output, index: int, row: Row, names: tuple[str, ...]
) -> tuple[float, ...]:
    """Give the probability of each cell of a decoded row: of what happens and, where the entity is
    created or moves, of the place it comes to.
    """
    tags, places = _find_both(output, index, names)
    found = []
    for step, (tag, cell) in enumerate(zip(row.tags, row.steps, strict=True)):
        probability = tags[step, TAGS.index(tag)]
        if tag in (Tag.C, Tag.M):
            probability *= places[step + 1, names.index(cell.after)]
        found.append(float(probability))
    return tuple(found)


def find_probabilities(output: Output, index: int, names: tuple[str, ...]) -> Probabilities:
    """Give the probability of every tag and every place of one entity."""
    tags, places = _find_both(output, index, names)
    # A name that stands twice has the probability of its first candidate.
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        first.setdefault(name, number)
    return Probabilities(
        tags=[{tag.value: float(p) for tag, p in zip(TAGS, row, strict=True)} for row in tags],
        places=[{name: float(row[number]) for name, number in first.items()} for row in places],
    )


def _find_both(
    output: Output, index: int, names: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give how probable tags are (steps, tags), and places (steps + 1, candidates)."""
    if output.has_uses:
        return find_locations(output, index, names)
    places = np.exp(log_softmax(output.place_scores(index)))
    return np.exp(find_tag_marginals(output, index)), places
