"""Build steps and entities from a user's input."""

from collections.abc import Sequence

from koala.document.types import Entity, Procedure, Step, build_entity, check_text
from koala.errors import KoalaError


def build_entities(names: Sequence[str] | None) -> tuple[Entity, ...]:
    """Build entities from their names; a single string is an error."""
    if isinstance(names, str):
        raise KoalaError(f"entities is {names!r}; expected a list of names: [{names!r}].")
    return tuple(map(build_entity, names or ()))


def build_steps(content: str | Sequence[str]) -> tuple[Step, ...]:
    """Split a text into steps, or build steps from their texts, leaving out empty ones.

    >>> [step.text for step in build_steps(["Water  boils.", " ", "Steam rises."])]
    ['Water boils.', 'Steam rises.']
    """
    for part in (content,) if isinstance(content, str) else content:
        check_text(part)
    if isinstance(content, str):
        return Procedure.from_text(content).steps
    steps = tuple(Step(line) for step in content if (line := " ".join(step.split())))
    if not steps:
        raise KoalaError("The text is empty: all steps are blank.")
    return steps
