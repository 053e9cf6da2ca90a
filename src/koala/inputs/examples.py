"""Items: entities of procedures with their triples and gold annotations, and batches of items."""

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
"""Procedures are sorted by length within about this many batches; larger means less padding."""


@dataclass(frozen=True, slots=True)
class Participation:
    """Which steps of a recipe use an ingredient, and the correct locations of each step."""

    steps: tuple[bool, ...]
    locations: tuple[frozenset[str], ...]
    """For each step, the correct names; STAYS and `?` (taken out) may be among them."""


STAYS = "="
"""Location of a step that moves nothing: new ingredients are at `?`, others stay where they are."""


@dataclass(frozen=True, slots=True)
class Item:
    """An entity of an annotated procedure and the triples retrieved for it."""

    procedure: Procedure
    entity: int
    triples: tuple[Triple, ...] = ()
    gold: Row | None = None
    annotators: tuple[Row, ...] = ()
    """The entity's rows by single annotators, as training targets in addition to gold."""
    relevance: Relevance | None = None
    participation: Participation | None = None
    """Recipes only: the targets are then participation and step locations, not state changes."""

    @property
    def tags(self) -> tuple[Tag, ...]:
        """The gold tags."""
        if self.gold is None:
            raise KoalaError(f"Procedure {self.procedure.id} has no gold grid to train on.")
        return (
            self.gold.tags
            if self.participation is None
            else tags_from_participation(self.participation.steps)
        )


def build_items(
    procedures: Sequence[Procedure], triples: Sequence[Sequence[tuple[Triple, ...]]]
) -> list[Item]:
    """Build one item per entity, in the order of procedures and entities.

    `triples` has a tuple for each entity of each procedure.
    """
    return [
        Item(procedure, index, group)
        for procedure, groups in zip(procedures, triples, strict=True)
        for index, group in enumerate(groups)
    ]


def items_by_annotator(items: Sequence[Item]) -> list[list[Item]]:
    """Return one copy of the items per annotator, with that annotator's rows as gold.

    An item that has no row of an annotator keeps its gold.
    """
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
    """Plan batches of at most `size` items from whole procedures of similar length.

    Return the indices of the groups in each batch, in random order if there is a seed. A procedure
    with more than `size` items has a batch of its own.
    """
    numbers = list(range(len(groups)))
    generator = random.Random(seed)
    if seed is not None:
        generator.shuffle(numbers)
    bucket = _BUCKET * max(1, size // 4)
    ordered: list[int] = []
    for start in range(0, len(numbers), bucket):
        part = numbers[start : start + bucket]
        ordered += sorted(part, key=lambda number: _length(groups[number][0]))
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
    """Split items into batches, as `plan_batches` does."""
    groups = group_items(items)
    return [
        [item for number in batch for item in groups[number]]
        for batch in plan_batches(groups, size, seed=seed)
    ]


def split_entities(items: Sequence[Item], size: int, *, seed: int) -> list[list[Item]]:
    """Split items into batches of `size` in random order, whichever procedure they belong to.

    Within a batch, the items of a procedure are neighbours, so that its text is encoded once there.
    """
    shuffled = list(items)
    random.Random(seed).shuffle(shuffled)
    return [_gather(shuffled[start : start + size]) for start in range(0, len(shuffled), size)]


def _gather(items: Sequence[Item]) -> list[Item]:
    """Put the items of a procedure next to each other, in the order of their first items."""
    by_procedure: dict[int, list[Item]] = {}
    for item in items:
        by_procedure.setdefault(id(item.procedure), []).append(item)
    return [item for group in by_procedure.values() for item in group]


def _length(item: Item) -> int:
    return sum(len(step.words) for step in item.procedure.steps)
