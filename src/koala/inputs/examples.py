"""Entities of procedures, each with its triples and what is known of it, and batches of them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from koala.document import Procedure
from koala.errors import KoalaError
from koala.grid import Row
from koala.grid.states import Tag, tags_from_participation
from koala.knowledge.relevance import Relevance
from koala.knowledge.triple import Triple

_BUCKET = 8
"""Batches whose procedures are sorted by length together; larger means less padding."""


@dataclass(frozen=True, slots=True)
class Participation:
    """Which steps of a recipe use an ingredient, and what their places may be."""

    steps: tuple[bool, ...]
    locations: tuple[frozenset[str], ...]
    """Of each step: the names that are right, STAYS and `?` (taken out to somewhere) among them."""


STAYS = "="
"""Stands for the place of a step that has none: what is new is somewhere, the rest stays."""


@dataclass(frozen=True, slots=True)
class Item:
    """An entity of an annotated procedure and the triples retrieved for it."""

    procedure: Procedure
    entity: int
    triples: tuple[Triple, ...] = ()
    gold: Row | None = None
    annotators: tuple[Row, ...] = ()
    """What single annotators said of the entity, to learn from besides gold."""
    relevance: Relevance | None = None
    participation: Participation | None = None
    """Of a recipe: tags and places then say this, not what changes and where the entity is."""

    @property
    def tags(self) -> tuple[Tag, ...]:
        """The tags that a network should give."""
        if self.gold is None:
            raise KoalaError(f"Procedure {self.procedure.id} has no gold grid to learn from.")
        return (
            self.gold.tags
            if self.participation is None
            else tags_from_participation(self.participation.steps)
        )


def build_items(
    procedures: Sequence[Procedure], triples: Sequence[Sequence[tuple[Triple, ...]]]
) -> list[Item]:
    """Build one item an entity, in the order of procedures and entities."""
    return [
        Item(procedure, index, group)
        for procedure, groups in zip(procedures, triples, strict=True)
        for index, group in enumerate(groups)
    ]


def view_items(items: Sequence[Item]) -> list[list[Item]]:
    """Give the items as their annotators saw them, a view each; gold where one did not speak."""
    n = max((len(item.annotators) for item in items), default=0)
    return [
        [
            replace(item, gold=item.annotators[number]) if number < len(item.annotators) else item
            for item in items
        ]
        for number in range(n)
    ]


def group_items(items: Sequence[Item]) -> list[list[Item]]:
    """Group neighbouring items by procedure, so that each text is encoded once."""
    groups: list[list[Item]] = []
    for item in items:
        if groups and groups[-1][0].procedure is item.procedure:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def plan_batches(
    groups: Sequence[Sequence[Item]], size: int, *, seed: int | None = None
) -> list[list[int]]:
    """Plan batches of about `size` items from whole procedures of similar length.

    Gives the numbers of the groups in each batch; with a seed in a random order.
    """
    numbers = list(range(len(groups)))
    generator = random.Random(seed)
    if seed is not None:
        generator.shuffle(numbers)
    bucket = _BUCKET * max(1, size // 4)
    ordered: list[int] = []
    for start in range(0, len(numbers), bucket):
        some = numbers[start : start + bucket]
        ordered += sorted(some, key=lambda number: _length(groups[number][0]))
    batches: list[list[int]] = []
    n_items = 0
    for number in ordered:
        if batches and n_items + len(groups[number]) <= size:
            batches[-1].append(number)
            n_items += len(groups[number])
        else:
            batches.append([number])
            n_items = len(groups[number])
    if seed is not None:
        generator.shuffle(batches)
    return batches


def split_items(items: Sequence[Item], size: int, *, seed: int | None = None) -> list[list[Item]]:
    """Split items into batches of about `size`, procedures whole; with a seed in a random order."""
    groups = group_items(items)
    return [
        [item for number in batch for item in groups[number]]
        for batch in plan_batches(groups, size, seed=seed)
    ]


def _length(item: Item) -> int:
    return sum(len(step.words) for step in item.procedure.steps)
