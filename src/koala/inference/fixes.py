"""Cells that a person has fixed: from names and locations to constraints on decoding."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from koala.decoding import Names
from koala.decoding.conditional import Fix, Fixes
from koala.decoding.recipes import NOWHERE
from koala.document import Candidate, Entity, FixedCell, Procedure, build_entity
from koala.errors import KoalaError
from koala.grid.states import ABSENT, UNKNOWN, Action, Tag
from koala.inputs.examples import Item

FixedCells = Mapping[tuple[str, int], str | Action | tuple[Action, str]]
"""Entity and step → the location after the step (`-` if the entity does not exist then, `?` if its
location is unknown), the action of the step, or both: `(Action.MOVE, "pot")`. Step 0 is before the
first step and has no action."""

_TAGS: Mapping[Action, frozenset[Tag]] = {
    Action.NONE: frozenset({Tag.O_C, Tag.E, Tag.O_D}),
    Action.CREATE: frozenset({Tag.C}),
    Action.MOVE: frozenset({Tag.M}),
    Action.DESTROY: frozenset({Tag.D}),
}

_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)
_FIX = re.compile(r"^(?P<entity>.+)@(?P<step>\d+)=(?P<location>.+)$", re.DOTALL)


def parse_fix(text: str) -> tuple[tuple[str, int], str]:
    """Read `water@3=pot`.

    >>> parse_fix("water@3=the pot")
    (('water', 3), 'the pot')
    """
    match = _FIX.match(text.strip())
    if match is None:
        raise KoalaError(
            f"A fix is {text!r}; ENTITY@STEP=LOCATION was expected, as in water@3=pot."
        )
    return (match["entity"].strip(), int(match["step"])), match["location"].strip()


def parse_fixes(texts: Iterable[str]) -> dict[tuple[str, int], str]:
    """Read several fixes; a cell that is fixed twice with different locations is refused."""
    fixed: dict[tuple[str, int], str] = {}
    for key, location in map(parse_fix, texts):
        if fixed.setdefault(key, location) != location:
            name, step = key
            raise KoalaError(
                f"The cell {name}@{step} is fixed twice, as {fixed[key]!r} and as {location!r}; "
                "fix each cell once."
            )
    return fixed


def fix_cells(procedure: Procedure, fixed: FixedCells) -> Procedure:
    """Give a procedure whose entities carry their fixed cells; unknown entities are added."""
    entities = list(procedure.entities)
    for (name, step), said in fixed.items():
        if not 0 <= step <= len(procedure.steps):
            raise KoalaError(
                f"Fixed cell {name}@{step}: the procedure has steps 1 to {len(procedure.steps)} "
                "(0: before the first)."
            )
        cell = _build_cell(name, step, said)
        index = _find_entity(entities, name)
        if index is None:
            entities.append(build_entity(name))
            index = len(entities) - 1
        own = entities[index]
        if any(step == other.step for other in own.fixed):
            raise KoalaError(f"The cell {own.name}@{step} is fixed twice; fix each cell once.")
        entities[index] = replace(own, fixed=(*own.fixed, cell))
    return replace(procedure, entities=tuple(entities))


def _build_cell(name: str, step: int, said: str | Action | tuple[Action, str]) -> FixedCell:
    action, location = _split_said(said)
    if location == "":
        raise KoalaError(f"Fixed cell {name}@{step}: the location is empty. Give one, - or ?.")
    if action is None:
        return FixedCell(step, location)
    if step == 0:
        raise KoalaError(
            f"Fixed cell {name}@0: {action} came, but no action happens before the first step. "
            "Give a location, - or ?."
        )
    if location is not None and action != Action.NONE:
        is_absent = location == ABSENT
        if is_absent != (action == Action.DESTROY):
            after = "does not exist" if is_absent else f"is at {location!r}"
            raise KoalaError(
                f"Fixed cell {name}@{step}: {action} came, but {name} {after} after the step."
            )
    return FixedCell(step, location, action.value)


def _split_said(said: str | Action | tuple[Action, str]) -> tuple[Action | None, str | None]:
    if isinstance(said, Action):
        return said, None
    if isinstance(said, str):
        return None, said.strip()
    return said[0], said[1].strip()


def _find_entity(entities: Sequence[Entity], name: str) -> int | None:
    wanted = name.strip().lower()
    for number, entity in enumerate(entities):
        if wanted in {entity.name.lower(), *(alias.lower() for alias in entity.aliases)}:
            return number
    return None


def add_fixed_candidates(procedure: Procedure) -> Procedure:
    """Add fixed locations that the text does not name as candidates without mentions."""
    known = {_normalize(name) for c in procedure.candidates for name in (c.name, c.surface)}
    new: dict[str, Candidate] = {}
    for entity in procedure.entities:
        for cell in entity.fixed:
            location = cell.location or UNKNOWN
            key = _normalize(location)
            if location not in (ABSENT, UNKNOWN) and key not in known and key not in new:
                new[key] = Candidate(_strip(location), (), text=_strip(location))
    return (
        replace(procedure, candidates=(*procedure.candidates, *new.values())) if new else procedure
    )


def find_fixes(procedure: Procedure, names: Names) -> list[Fixes]:
    """Give the fixes of every entity by position; `names` are the candidates, `?` first."""
    numbers: dict[str, int] = {}
    for number, candidate in enumerate(procedure.candidates, 1):
        for name in (candidate.surface, candidate.name):
            numbers.setdefault(_normalize(name), number)
    numbers |= {ABSENT: NOWHERE, UNKNOWN: names.index(UNKNOWN)}
    return [
        {cell.step: _find_fix(cell, numbers) for cell in entity.fixed}
        for entity in procedure.entities
    ]


def _find_fix(cell: FixedCell, numbers: Mapping[str, int]) -> Fix:
    location = None if cell.location is None else numbers[_normalize(cell.location)]
    if cell.action is None:
        return Fix(location)
    action = Action(cell.action)
    return Fix(location, _TAGS[action], must_move=action == Action.MOVE)


def find_item_fixes(items: Sequence[Item], names: Names) -> list[Fixes]:
    """Give the fixes of some entities of one procedure; an empty list if none has any."""
    every = find_fixes(items[0].procedure, names)
    return [every[item.entity] for item in items] if any(every) else []


def _normalize(location: str) -> str:
    return " ".join(_strip(location).lower().split())


def _strip(location: str) -> str:
    return _ARTICLE.sub("", location.strip())
