"""Hide the questions of some training texts, so that a network does not need them."""

import random
from collections.abc import Sequence
from dataclasses import replace

from koala.inputs.examples import Item, group_items


def hide_questions(items: Sequence[Item], share: float, seed: int) -> list[Item]:
    """Leave out the prompts of some procedures, by chance.

    Those of koala's own corpus are always left out: they are titles, and who brings a text of that
    kind seldom gives one.
    """
    generator = random.Random(seed)
    found: list[Item] = []
    for group in group_items(items):
        if generator.random() < share or group[0].procedure.convention == "koala":
            bare = replace(group[0].procedure, question="")
            group = [replace(item, procedure=bare) for item in group]
        found += group
    return found
