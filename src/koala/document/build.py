"""Build steps and entities from a user's input."""

import re
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

    The offsets of steps that were given as a list count in the list joined by line breaks.

    >>> [(step.text, step.start) for step in build_steps(["Water  boils.", " ", "Steam rises."])]
    [('Water boils.', 0), ('Steam rises.', 16)]
    """
    for part in (content,) if isinstance(content, str) else content:
        check_text(part)
    if isinstance(content, str):
        return Procedure.from_text(content).steps
    steps = []
    start = 0
    for text in content:
        if not text.isspace() and text:
            steps.append(_build_step(text, start))
        start += len(text) + 1
    if not steps:
        raise KoalaError("The text is empty: all steps are blank.")
    return tuple(steps)


def place_steps(texts: Sequence[str]) -> tuple[Step, ...]:
    """Build steps from their texts as they are, with offsets in the texts joined by line breaks."""
    steps = []
    start = 0
    for text in texts:
        steps.append(Step(text, start))
        start += len(text) + 1
    return tuple(steps)


def _build_step(text: str, start: int) -> Step:
    """Build a step with single spaces between its words; `start` is the offset of `text`."""
    words = list(re.finditer(r"\S+", text))
    first = words[0].start()
    gaps: list[tuple[int, int]] = []
    position, missing = 0, 0
    for word in words:
        if added := word.start() - first - position - missing:
            gaps.append((position, added))
            missing += added
        position += len(word[0]) + 1
    return Step(" ".join(word[0] for word in words), start + first, gaps=tuple(gaps))
