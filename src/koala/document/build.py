"""Steps and entities from what a user gives."""

from collections.abc import Sequence

from koala.document.types import Entity, Procedure, Step, build_entity, check_text
from koala.errors import KoalaError


def build_entities(names: Sequence[str] | None) -> tuple[Entity, ...]:
    """Build entities from their names."""
    if isinstance(names, str):
        raise KoalaError(f"entities is {names!r}; a list of names was expected: [{names!r}].")
    return tuple(map(build_entity, names or ()))


def build_steps(content: str | Sequence[str]) -> tuple[Step, ...]:
    """Split a text into steps; of steps that are split already, leave out the empty ones.

    >>> [step.text for step in build_steps(["Water  boils.", " ", "Steam rises."])]
    ['Water boils.', 'Steam rises.']
    """
    for part in (content,) if isinstance(content, str) else content:
        check_text(part)
    if isinstance(content, str):
        return Procedure.from_text(content).steps
    steps = tuple(Step(line) for step in content if (line := " ".join(step.split())))
    if not steps:
        raise KoalaError("The text is empty: no step says anything.")
    return steps
