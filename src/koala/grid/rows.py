"""Cell and Row: what every step does to one entity, and how both are written as JSON."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from koala.document import split_aliases
from koala.errors import KoalaError
from koala.grid.spans import Mention, TextSpan, read_mentions, read_span
from koala.grid.states import (
    ABSENT,
    UNKNOWN,
    Action,
    Tag,
    action_of,
    locations_from_tags,
    tags_from_locations,
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What one step does to one entity."""

    action: Action
    before: str
    after: str
    confidence: float | None = None
    is_fixed: bool = False
    """Whether a person has said what the location after the step is."""
    location_span: TextSpan | None = None
    """Where the text names the location after the step, nearest to the step that brought the entity
    there; None if the text does not name it, or the grid is not grounded."""

    @property
    def exists(self) -> bool:
        """Whether the entity exists after the step."""
        return self.after != ABSENT

    def to_dict(self, number: int, *, is_grounded: bool = False) -> dict[str, Any]:
        """Give the cell of a step as plain values, in the shape of the JSON files."""
        step: dict[str, Any] = {"step": number, "action": self.action.value}
        step |= {"before": self.before, "after": self.after}
        if is_grounded:
            step["location_span"] = self.location_span and self.location_span.to_dict()
        if self.confidence is not None:
            step["confidence"] = self.confidence
        if self.is_fixed:
            step["fixed"] = True
        return step

    @property
    def problem(self) -> str | None:
        """How the cell contradicts itself, or None; a MOVE may end where it starts."""
        before_exists, after_exists = self.before != ABSENT, self.after != ABSENT
        match self.action:
            case Action.NONE:
                is_valid, rule = self.before == self.after, "before and after are the same"
            case Action.CREATE:
                is_valid = not before_exists and after_exists
                rule = "before is - and after is a location or ?"
            case Action.MOVE:
                is_valid = before_exists and after_exists
                rule = "before and after are locations or ?"
            case Action.DESTROY:
                is_valid = before_exists and not after_exists
                rule = "before is a location or ? and after is -"
        if is_valid and (self.action == Action.NONE or (self.before and self.after)):
            return None
        return f"{self.action} from {self.before!r} to {self.after!r}; with {self.action}, {rule}."


EMPTY = Cell(Action.NONE, UNKNOWN, UNKNOWN)
"""The cell of a step for which a prediction file has no row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One entity through all steps: its trajectory."""

    name: str
    """May hold aliases, as in `plant; animal`."""
    steps: tuple[Cell, ...]
    mentions: tuple[Mention, ...] = ()
    """Where the text names the entity, if the grid is grounded."""
    initial_span: TextSpan | None = None
    """Where the text names the location before step 1, if it does and the grid is grounded."""

    @classmethod
    def from_locations(
        cls, name: str, locations: Sequence[str], confidences: Sequence[float] | None = None
    ) -> Self:
        """Build a row from its locations: one before step 1, one after every step."""
        if len(locations) < 2:
            raise KoalaError(
                f"Entity {name!r}: expected 2 or more locations, got {len(locations)}."
            )
        pairs = list(itertools.pairwise(locations))
        scores = confidences if confidences is not None else [None] * len(pairs)
        cells = (
            Cell(action_of(before, after), before, after, confidence)
            for (before, after), confidence in zip(pairs, scores, strict=True)
        )
        return cls(name, tuple(cells))

    @classmethod
    def from_tags(cls, name: str, tags: Sequence[Tag], locations: Sequence[str]) -> Self:
        """Build a row from legal tags and a proposed location for every position."""
        return cls.from_locations(name, locations_from_tags(tags, locations))

    def with_fixed(self, steps: Collection[int]) -> Self:
        """Mark the cells of some steps as fixed by a person, and so as certain."""
        cells = [
            replace(cell, is_fixed=True, confidence=None if cell.confidence is None else 1.0)
            if number in steps
            else cell
            for number, cell in enumerate(self.steps, 1)
        ]
        return replace(self, steps=tuple(cells))

    def to_dict(self, *, is_grounded: bool = False) -> dict[str, Any]:
        """Give the row as plain values, in the shape of the JSON files."""
        value: dict[str, Any] = {"name": self.name, "initial": self.initial}
        if is_grounded:
            value["initial_span"] = self.initial_span and self.initial_span.to_dict()
            value["mentions"] = [mention.to_dict() for mention in self.mentions]
        value["steps"] = [
            cell.to_dict(number, is_grounded=is_grounded)
            for number, cell in enumerate(self.steps, 1)
        ]
        return value

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names of the entity, in the order of `name`."""
        return split_aliases(self.name)

    @property
    def initial(self) -> str:
        """The location before step 1."""
        return self.steps[0].before if self.steps else UNKNOWN

    @property
    def locations(self) -> tuple[str, ...]:
        """The location before step 1, then after every step."""
        return (self.initial, *(cell.after for cell in self.steps))

    @property
    def location_spans(self) -> tuple[TextSpan | None, ...]:
        """Where the text names the location before step 1, then after every step."""
        return (self.initial_span, *(cell.location_span for cell in self.steps))

    @property
    def actions(self) -> tuple[Action, ...]:
        """The action of every step."""
        return tuple(cell.action for cell in self.steps)

    @property
    def tags(self) -> tuple[Tag, ...]:
        """The tag of every step, derived from the locations."""
        return tags_from_locations(self.locations)

    @property
    def problem(self) -> str | None:
        """How the row contradicts itself, or None."""
        location = self.initial
        for number, cell in enumerate(self.steps, 1):
            if cell.before != location:
                return (
                    f"step {number} starts at {cell.before!r}, "
                    f"but step {number - 1} ended at {location!r}"
                )
            if cell.action != action_of(cell.before, cell.after):
                return f"step {number} is {cell.action} from {cell.before!r} to {cell.after!r}"
            location = cell.after
        return None


def read_row(entity: Any) -> Row:  # noqa: ANN401
    """Build a row from plain values in the shape of the JSON files."""
    name = get_field(entity, "name", str)
    if not name.strip():
        raise KoalaError("An entity's name is empty.")
    steps = get_field(entity, "steps", list)
    for number, step in enumerate(steps, 1):
        if isinstance(step, Mapping) and step.get("step", number) != number:
            raise KoalaError(f"Entity {name!r}: expected step {number}, got {step['step']!r}.")
    row = Row(
        name,
        tuple(map(_read_cell, steps)),
        read_mentions(entity.get("mentions"), len(steps)),
        read_span(entity.get("initial_span"), "initial_span"),
    )
    initial = entity.get("initial", row.initial)
    if initial != row.initial:
        raise KoalaError(
            f"Entity {name!r}: initial is {initial!r}, but step 1 starts at {row.initial!r}."
        )
    return row


def _read_cell(step: Any) -> Cell:  # noqa: ANN401
    action = get_field(step, "action", str)
    if action not in Action.__members__:
        known = ", ".join(Action)
        raise KoalaError(f"Action {action!r} is unknown; expected one of {known}.")
    confidence = step.get("confidence")
    if confidence is not None and type(confidence) not in (int, float):
        raise KoalaError(f'"confidence" must be a number, got {confidence!r}.')
    cell = Cell(
        Action(action),
        get_field(step, "before", str),
        get_field(step, "after", str),
        confidence,
        is_fixed=step.get("fixed") is True,
        location_span=read_span(step.get("location_span"), "location_span"),
    )
    if cell.problem:
        raise KoalaError(cell.problem)
    return cell


def get_field(value: object, key: str, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401
    """Give a field of a JSON object; refuse a missing one and one of another type."""
    if not isinstance(value, Mapping):
        raise KoalaError(f"Expected a JSON object with {key!r}, got {value!r:.60}.")
    if key not in value:
        raise KoalaError(f"{key!r} is missing; found: {', '.join(map(str, value)) or 'nothing'}.")
    if not isinstance(value[key], kind) or isinstance(value[key], bool):
        names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise KoalaError(f"{key!r} must be {names}, got {value[key]!r:.60}.")
    return value[key]
