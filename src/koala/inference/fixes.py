"""Cells that a person has fixed: from names and locations to constraints on decoding."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from koala.decoding import Names
from koala.decoding.conditional import Fix, Fixes
from koala.decoding.recipes import NOWHERE
from koala.document import Candidate, Entity, Procedure, build_entity
from koala.errors import KoalaError
from koala.grid.states import ABSENT, UNKNOWN
from koala.inputs.examples import Item

FixedCells = Mapping[tuple[str, int], str]
"""Entity and step → the location after the step, `-` if the entity does not exist then, `?` if its
location is unknown. Step 0 is before the first step."""

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


def fix_cells(procedure: Procedure, fixed: FixedCells) -> Procedure:
    """Give a procedure whose entities carry their fixed cells; unknown entities are added."""
    entities = list(procedure.entities)
    for (name, step), location in fixed.items():
        if not 0 <= step <= len(procedure.steps):
            raise KoalaError(
                f"Fixed cell {name}@{step}: the procedure has steps 1 to {len(procedure.steps)} "
                "(0: before the first)."
            )
        if not location.strip():
            raise KoalaError(f"Fixed cell {name}@{step}: the location is empty. Give one, - or ?.")
        index = _find_entity(entities, name)
        if index is None:
            entities.append(build_entity(name))
            index = len(entities) - 1
        own = entities[index]
        entities[index] = replace(own, fixed=(*own.fixed, (step, location.strip())))
    return replace(procedure, entities=tuple(entities))


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
        for _, location in entity.fixed:
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
        {
            step: Fix(location=numbers[location if location == UNKNOWN else _normalize(location)])
            for step, location in entity.fixed
        }
        for entity in procedure.entities
    ]


def find_item_fixes(items: Sequence[Item], names: Names) -> list[Fixes]:
    """Give the fixes of some entities of one procedure; an empty list if none has any."""
    every = find_fixes(items[0].procedure, names)
    return [every[item.entity] for item in items] if any(every) else []


def _normalize(location: str) -> str:
    return " ".join(_strip(location).lower().split())


def _strip(location: str) -> str:
    return _ARTICLE.sub("", location.strip())
