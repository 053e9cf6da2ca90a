"""State tags, their legal transitions, and conversions between tags, actions and locations.

The locations of an entity, a location row, have one cell before step 1 and one after every step;
tags and actions have one per step. Worked example, three steps:

>>> row = ["-", "-", "cloud", "ground"]
>>> [tag.value for tag in tags_from_locations(row)]
['O_C', 'C', 'M']
>>> [action.value for action in actions_from_tags(tags_from_locations(row))]
['NONE', 'CREATE', 'MOVE']
"""

import itertools
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from koala.errors import KoalaError

ABSENT = "-"
"""The location of an entity that does not exist."""

UNKNOWN = "?"
"""The location of an entity that exists, but whose location the text does not tell."""


class Action(StrEnum):
    """What a step does to an entity."""

    NONE = "NONE"
    CREATE = "CREATE"
    MOVE = "MOVE"
    DESTROY = "DESTROY"


class Tag(StrEnum):
    """The six labels of the state sequence; unlike NONE, a tag tells whether the entity exists."""

    O_C = "O_C"  # does not exist yet
    C = "C"  # is created
    E = "E"  # exists and does not change
    M = "M"  # moves
    D = "D"  # is destroyed
    O_D = "O_D"  # does not exist any more


_EXISTS_AFTER = frozenset({Tag.C, Tag.E, Tag.M})
_EXISTS_BEFORE = frozenset({Tag.E, Tag.M, Tag.D})

TRANSITIONS: Mapping[Tag, frozenset[Tag]] = MappingProxyType(
    {
        Tag.O_C: frozenset({Tag.O_C, Tag.C}),
        Tag.C: frozenset({Tag.E, Tag.M, Tag.D}),
        Tag.E: frozenset({Tag.E, Tag.M, Tag.D}),
        Tag.M: frozenset({Tag.E, Tag.M, Tag.D}),
        # A destroyed entity may be created again (13 + 2 times in ProPara train).
        Tag.D: frozenset({Tag.O_D, Tag.C}),
        Tag.O_D: frozenset({Tag.O_D, Tag.C}),
    }
)

FIRST_TAGS = frozenset(Tag) - {Tag.O_D}
"""Possible tags of the first step: no entity has been destroyed before it."""

LAST_TAGS = frozenset(Tag) - {Tag.O_C}
"""Possible tags of the last step in ProPara, where every entity exists at some time. Recipes has
ingredients that never appear: their rows are O_C throughout."""


def find_last_tags(*, may_be_absent: bool) -> frozenset[Tag]:
    """Give the possible tags of the last step; O_C only if an entity may be absent throughout."""
    return LAST_TAGS | {Tag.O_C} if may_be_absent else LAST_TAGS


_ACTIONS = {
    Tag.O_C: Action.NONE,
    Tag.C: Action.CREATE,
    Tag.E: Action.NONE,
    Tag.M: Action.MOVE,
    Tag.D: Action.DESTROY,
    Tag.O_D: Action.NONE,
}


def is_legal(tags: Sequence[Tag]) -> bool:
    """Tell whether some trajectory has this tag sequence."""
    return find_illegal(tags) is None


def find_illegal(tags: Sequence[Tag]) -> int | None:
    """Give the index of the first tag that cannot follow the tag before it, or None."""
    if tags and tags[0] not in FIRST_TAGS:
        return 0
    for index in range(1, len(tags)):
        if tags[index] not in TRANSITIONS[tags[index - 1]]:
            return index
    return None


def action_of(before: str, after: str) -> Action:
    """Give the action that leads from one location to another."""
    if before == after:
        return Action.NONE
    if before == ABSENT:
        return Action.CREATE
    return Action.DESTROY if after == ABSENT else Action.MOVE


def find_presence(tags: Sequence[Tag]) -> tuple[bool, ...]:
    """Tell whether an entity exists: before step 1, then after each step."""
    return bool(tags) and tags[0] in _EXISTS_BEFORE, *(tag in _EXISTS_AFTER for tag in tags)


def tags_from_locations(locations: Sequence[str]) -> tuple[Tag, ...]:
    """Give the tags of a location row."""
    actions = [action_of(*pair) for pair in itertools.pairwise(locations)]
    return tags_from_actions(actions, exists=bool(locations) and locations[0] != ABSENT)


def tags_from_actions(actions: Sequence[Action], *, exists: bool | None = None) -> tuple[Tag, ...]:
    """Give the tags of actions.

    `exists` tells whether the entity exists before step 1. If it is None, the first change decides:
    an entity that is created did not exist before, any other did.
    """
    if exists is None:
        exists = next((a for a in actions if a != Action.NONE), None) != Action.CREATE
    tags: list[Tag] = []
    has_existed = exists
    for step, action in enumerate(actions, 1):
        if (action == Action.CREATE) == exists and action != Action.NONE:
            state = "exists" if exists else "does not exist"
            raise KoalaError(f"Step {step}: {action} of an entity that {state}.")
        match action:
            case Action.CREATE:
                tag, exists, has_existed = Tag.C, True, True
            case Action.MOVE:
                tag = Tag.M
            case Action.DESTROY:
                tag, exists = Tag.D, False
            case Action.NONE:
                tag = Tag.E if exists else Tag.O_D if has_existed else Tag.O_C
        tags.append(tag)
    return tuple(tags)


def tags_from_participation(participation: Sequence[bool]) -> tuple[Tag, ...]:
    """Give the tags of a recipe's ingredient, from whether each step uses it.

    C is the first use, M a later one, E a step without use after the first; O_C stands before the
    first use. An ingredient is never destroyed.

    >>> [tag.value for tag in tags_from_participation([False, True, False, True])]
    ['O_C', 'C', 'E', 'M']
    """
    tags: list[Tag] = []
    for is_used in participation:
        exists = bool(tags) and tags[-1] != Tag.O_C
        if is_used:
            tags.append(Tag.M if exists else Tag.C)
        else:
            tags.append(Tag.E if exists else Tag.O_C)
    return tuple(tags)


def actions_from_tags(tags: Sequence[Tag]) -> tuple[Action, ...]:
    """Give the action of every tag."""
    return tuple(_ACTIONS[tag] for tag in tags)


def locations_from_tags(tags: Sequence[Tag], locations: Sequence[str]) -> tuple[str, ...]:
    """Build the location row of a tag sequence.

    `locations` has one cell more than `tags`. It is read only before step 1, if the entity exists
    then, and at creations and moves; otherwise the entity stays where it is.
    """
    if len(locations) != len(tags) + 1:
        raise KoalaError(f"{len(tags)} tags need {len(tags) + 1} locations, got {len(locations)}.")
    illegal = find_illegal(tags)
    if illegal is not None:
        before = tags[illegal - 1].value if illegal else "the start"
        raise KoalaError(f"Step {illegal + 1}: {tags[illegal].value} cannot follow {before}.")
    row: list[str] = []
    for position, exists in enumerate(find_presence(tags)):
        if not exists:
            row.append(ABSENT)
        elif position == 0 or tags[position - 1] in (Tag.C, Tag.M):
            row.append(_location_at(locations, position))
        else:
            row.append(row[-1])
    return tuple(row)


def _location_at(locations: Sequence[str], position: int) -> str:
    if locations[position] == ABSENT:
        raise KoalaError(f"Position {position}: the entity exists, so its location cannot be -.")
    return locations[position]
