"""Items → batches: the entities of a procedure together, procedures of similar length together."""

import random
from collections.abc import Sequence
from itertools import groupby

from koala.batch import Item

_BUCKET = 8
"""Batches whose procedures are sorted by length together; larger means less padding."""


def group_items(items: Sequence[Item]) -> list[list[Item]]:
    """Group items by procedure, so that each text is encoded once for all its entities."""
    return [list(group) for _, group in groupby(items, key=lambda item: id(item.procedure))]


def build_batches(items: Sequence[Item], size: int, *, seed: int | None = None) -> list[list[Item]]:
    """Build batches of about `size` entities; with a seed in a random order."""
    groups = group_items(items)
    generator = random.Random(seed)
    if seed is not None:
        generator.shuffle(groups)
    bucket = _BUCKET * max(1, size // 4)
    ordered: list[list[Item]] = []
    for start in range(0, len(groups), bucket):
        ordered += sorted(groups[start : start + bucket], key=lambda group: _length(group[0]))
    batches: list[list[Item]] = []
    for group in ordered:
        if batches and len(batches[-1]) + len(group) <= size:
            batches[-1] += group
        else:
            batches.append(list(group))
    if seed is not None:
        generator.shuffle(batches)
    return batches


def _length(item: Item) -> int:
    return sum(len(step.words) for step in item.procedure.steps)
