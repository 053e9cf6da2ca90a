"""Where the values of a grid stand in the text that the user gave, in characters.

If the user gave a list of steps, the text is these steps joined by line breaks (`"\\n".join`).
Offsets count Unicode characters, as Python does: `text[span.start : span.end]`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from koala.errors import KoalaError


@dataclass(frozen=True, slots=True)
class TextSpan:
    """The characters of the text from `start` up to, but not including, `end`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise KoalaError(
                f"A span is {self.start} to {self.end}; its start must be 0 or more, and its end "
                "not before its start."
            )

    def read(self, text: str) -> str:
        """Give the words of the text.

        >>> TextSpan(6, 11).read("Roots water the leaf")
        'water'
        """
        return text[self.start : self.end]

    def to_dict(self) -> dict[str, int]:
        """Give plain values, in the shape of the JSON files."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a step names an entity."""

    step: int
    """From 1."""
    span: TextSpan

    def to_dict(self) -> dict[str, int]:
        """Give plain values, in the shape of the JSON files."""
        return {"step": self.step, **self.span.to_dict()}


def read_span(value: object, key: str) -> TextSpan | None:
    """Read a span of a JSON file; null, or none, is a value that is not in the text."""
    return None if value is None else TextSpan(_read(value, key, "start"), _read(value, key, "end"))


def read_spans(value: object, key: str) -> tuple[TextSpan, ...] | None:
    """Read a list of spans of a JSON file; null if the file has none."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise KoalaError(f'"{key}" must be a list of spans, got {value!r:.60}.')
    return tuple(TextSpan(_read(v, key, "start"), _read(v, key, "end")) for v in value)


def read_mentions(value: object, n_steps: int) -> tuple[Mention, ...]:
    """Read the mentions of an entity in a JSON file; null counts as none."""
    spans = read_spans(value, "mentions") or ()
    each = value if isinstance(value, list) else []
    mentions = tuple(
        Mention(_read(one, "mentions", "step"), span) for one, span in zip(each, spans, strict=True)
    )
    for mention in mentions:
        if not 1 <= mention.step <= n_steps:
            raise KoalaError(f"A mention is in step {mention.step}; the steps are 1 to {n_steps}.")
    return mentions


def _read(value: object, key: str, part: str) -> int:
    number = value.get(part) if isinstance(value, Mapping) else None
    if type(number) is not int:
        raise KoalaError(f'"{key}" must have a whole number {part!r}, got {value!r:.60}.')
    return number
