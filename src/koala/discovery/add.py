"""Add discovered entities to procedures."""

from collections.abc import Sequence
from dataclasses import replace

from koala.discovery import find_entities
from koala.document import Entity, Procedure, build_entity
from koala.text.nlp import stem_content


def find_missing(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[Procedure]:
    """Find the entities worth tracking of procedures that name none; there may be none, still."""
    bare = [procedure for procedure in procedures if not procedure.entities]
    found = iter(add_entities(bare, n_threads=n_threads))
    return [procedure if procedure.entities else next(found) for procedure in procedures]


def add_entities(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[Procedure]:
    """Add the entities worth tracking to those that are named already; the named come first."""
    if not procedures:
        return []
    found = find_entities(procedures, n_threads=n_threads)
    return [
        replace(procedure, entities=(*procedure.entities, *_choose_new(procedure.entities, names)))
        for procedure, names in zip(procedures, found, strict=True)
    ]


def _choose_new(known: Sequence[Entity], names: Sequence[str]) -> list[Entity]:
    """Build entities of names that no known one has as an alias."""
    taken = {stem_content(alias) for entity in known for alias in entity.aliases}
    new = [build_entity(name) for name in names]
    return [e for e in new if not taken & {stem_content(alias) for alias in e.aliases}]
