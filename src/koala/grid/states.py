"""The tag alphabet, its legal transitions, and tags from and to actions and location rows.

A location row has a cell before step 1 and one after every step. Tags and actions have one cell a
step. Worked example, three steps:

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
"""The place of an entity that does not exist."""

UNKNOWN = "?"
"""The place of an entity that exists somewhere the text does not say."""


class Action(StrEnum):
    """What a step does to an entity."""

    NONE = "NONE"
    CREATE = "CREATE"
    MOVE = "MOVE"
    DESTROY = "DESTROY"


class Tag(StrEnum):
    """The six labels of the state sequence; unlike an action, a tag says whether it exists."""

    O_C = "O_C"  # does not exist yet
    C = "C"
    E = "E"  # exists, nothing happens
    M = "M"
    D = "D"
    O_D = "O_D"  # exists no more


_EXISTS_AFTER = frozenset({Tag.C, Tag.E, Tag.M})
_EXISTS_BEFORE = frozenset({Tag.E, Tag.M, Tag.D})

TRANSITIONS: Mapping[Tag, frozenset[Tag]] = MappingProxyType(
    {
        Tag.O_C: frozenset({Tag.O_C, Tag.C}),
        Tag.C: frozenset({Tag.E, Tag.M, Tag.D}),
        Tag.E: frozenset({Tag.E, Tag.M, Tag.D}),
        Tag.M: frozenset({Tag.E, Tag.M, Tag.D}),
        # What was destroyed may be created again (13 + 2 times in ProPara train).
        Tag.D: frozenset({Tag.O_D, Tag.C}),
        Tag.O_D: frozenset({Tag.O_D, Tag.C}),
    }
)

FIRST_TAGS = frozenset(Tag) - {Tag.O_D}
"""Tags of a first step: nothing is gone before it was there."""

LAST_TAGS = frozenset(Tag) - {Tag.O_C}
"""Tags of a last step in ProPara, where every entity exists at some time. Recipes has ingredients
that never appear, so a row of O_C alone is consistent, only never seen there."""


def find_last_tags(*, may_be_absent: bool) -> frozenset[Tag]:
    """Give the tags of a last step; where an entity may be absent throughout, O_C is one."""
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
    """Tell whether an entity can live this sequence."""
    return find_illegal(tags) is None


def find_illegal(tags: Sequence[Tag]) -> int | None:
    """Find the first tag that cannot follow what stands before it."""
    if tags and tags[0] not in FIRST_TAGS:
        return 0
    for index in range(1, len(tags)):
        if tags[index] not in TRANSITIONS[tags[index - 1]]:
            return index
    return None


def action_of(before: str, after: str) -> Action:
    """Give the action that leads from one place to another."""
    if before == after:
        return Action.NONE
    if before == ABSENT:
        return Action.CREATE
    return Action.DESTROY if after == ABSENT else Action.MOVE


def find_presence(tags: Sequence[Tag]) -> tuple[bool, ...]:
    """Tell whether an entity is there: before step 1, and after each step."""
    return bool(tags) and tags[0] in _EXISTS_BEFORE, *(tag in _EXISTS_AFTER for tag in tags)


def tags_from_locations(locations: Sequence[str]) -> tuple[Tag, ...]:
    """Read the tags off a location row."""
    actions = [action_of(*pair) for pair in itertools.pairwise(locations)]
    return tags_from_actions(actions, exists=bool(locations) and locations[0] != ABSENT)


def tags_from_actions(actions: Sequence[Action], *, exists: bool | None = None) -> tuple[Tag, ...]:
    """Add to actions whether the entity exists.

    `exists` says so for the time before step 1. Without it the first change tells: what is created
    was absent, all else was there.
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
    """Say of an ingredient of a recipe which steps use it: C the first time, then M, else E.

    Before the first use it is not there (O_C), and nothing is ever gone.

    >>> [tag.value for tag in tags_from_participation([False, True, False, True])]
    ['O_C', 'C', 'E', 'M']
    """
    tags: list[Tag] = []
    for is_used in participation:
        is_there = bool(tags) and tags[-1] != Tag.O_C
        if is_used:
            tags.append(Tag.M if is_there else Tag.C)
        else:
            tags.append(Tag.E if is_there else Tag.O_C)
    return tuple(tags)


def actions_from_tags(tags: Sequence[Tag]) -> tuple[Action, ...]:
    """Forget whether the entity exists, keep what happens."""
    return tuple(_ACTIONS[tag] for tag in tags)


def locations_from_tags(tags: Sequence[Tag], locations: Sequence[str]) -> tuple[str, ...]:
    """Build the location row of a tag sequence.

    `places` has one cell more than `tags` and is read only where the tags let a place begin: before
    step 1 if the entity exists then, and at creations and moves. In between an entity stays.
    """
    if len(locations) != len(tags) + 1:
        raise KoalaError(f"{len(tags)} tags need {len(tags) + 1} places, {len(locations)} came.")
    illegal = find_illegal(tags)
    if illegal is not None:
        before = tags[illegal - 1].value if illegal else "the start"
        raise KoalaError(f"Step {illegal + 1}: {tags[illegal].value} cannot follow {before}.")
    row: list[str] = []
    for position, is_there in enumerate(find_presence(tags)):
        if not is_there:
            row.append(ABSENT)
        elif position == 0 or tags[position - 1] in (Tag.C, Tag.M):
            row.append(_location(locations, position))
        else:
            row.append(row[-1])
    return tuple(row)


def _location(locations: Sequence[str], position: int) -> str:
    if locations[position] == ABSENT:
        raise KoalaError(f"Position {position}: the entity exists there, its place cannot be -.")
    return locations[position]
