"""Add discovered entities to procedures."""

from collections.abc import Sequence
from dataclasses import replace

from koala.discovery import find_entities
from koala.document import Entity, Procedure, build_entity
from koala.text.nlp import stem_content


def add_missing_entities(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[Procedure]:
    """Add discovered entities to procedures that have none; a text may still yield none."""
    without = [procedure for procedure in procedures if not procedure.entities]
    found = iter(add_entities(without, n_threads=n_threads))
    return [procedure if procedure.entities else next(found) for procedure in procedures]


def add_entities(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[Procedure]:
    """Add discovered entities to each procedure, after the entities it already has."""
    if not procedures:
        return []
    found = find_entities(procedures, n_threads=n_threads)
    return [
        replace(procedure, entities=(*procedure.entities, *_choose_new(procedure.entities, names)))
        for procedure, names in zip(procedures, found, strict=True)
    ]


def _choose_new(known: Sequence[Entity], names: Sequence[str]) -> list[Entity]:
    """Build entities from the names that are not an alias of a known entity."""
    taken = {stem_content(alias) for entity in known for alias in entity.aliases}
    new = [build_entity(name) for name in names]
    return [e for e in new if not taken & {stem_content(alias) for alias in e.aliases}]
