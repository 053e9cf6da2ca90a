"""Augmentation: some training texts are read without their question."""

import random
from collections.abc import Sequence
from dataclasses import replace

from koala.inputs.examples import Item, group_items


def hide_questions(items: Sequence[Item], share: float, seed: int) -> list[Item]:
    """Remove the questions of a random share of the procedures.

    Networks thus learn to work without a question. The questions of koala's own corpus are always
    removed: they are titles, which users seldom give.
    """
    generator = random.Random(seed)
    result: list[Item] = []
    for group in group_items(items):
        if generator.random() < share or group[0].procedure.convention == "koala":
            without = replace(group[0].procedure, question="")
            group = [replace(item, procedure=without) for item in group]
        result += group
    return result
