"""Grid: for every entity and step the action, the location before and the location after.

Gold and predicted grids have the same type. A grid read from a prediction file may contradict
itself (step 2 starts where step 1 did not end): `Row.problem` says how, and the scorers treat it
as the official scorer does.
"""

import csv
import io
import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from koala.document import split_aliases
from koala.errors import KoalaError
from koala.files import parse_json
from koala.grid.states import (
    ABSENT,
    UNKNOWN,
    Action,
    Tag,
    action_of,
    locations_from_tags,
    tags_from_locations,
)

COLUMNS = ("paragraph", "step", "participant", "action", "before", "after")
"""The columns of the leaderboard's TSV files."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one step does to one entity."""

    action: Action
    before: str
    after: str
    confidence: float | None = None
    is_fixed: bool = False
    """Whether a person has said what the location after the step is."""

    @property
    def exists(self) -> bool:
        """Whether the entity exists after the step."""
        return self.after != ABSENT

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


@dataclass(frozen=True, slots=True)
class Grid:
    """All entities of one procedure through all its steps."""

    id: str
    steps: tuple[str, ...]
    """The texts of the steps."""
    rows: tuple[Row, ...]
    signature: str | None = None
    """The signature of the model that predicted the grid, if there is one."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.steps) != len(self.steps):
                raise KoalaError(
                    f"Procedure {self.id}: entity {row.name!r} has {len(row.steps)} steps, "
                    f"the procedure has {len(self.steps)}."
                )

    def __getitem__(self, name: str) -> Row:
        """Give the first row with that name, or else with that alias; case does not matter."""
        wanted = name.strip().lower()
        for names_of in (lambda row: (row.name,), lambda row: row.aliases):
            for row in self.rows:
                if wanted in (name.strip().lower() for name in names_of(row)):
                    return row
        known = ", ".join(row.name for row in self.rows) or "none"
        raise KeyError(f"Entity {name!r} is not in procedure {self.id}. Its entities: {known}.")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entities; two entities may have the same name."""
        return tuple(row.name for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Give the grid as plain values, in the shape of the JSON files."""
        entities = []
        for row in self.rows:
            steps = []
            for number, cell in enumerate(row.steps, 1):
                step: dict[str, Any] = {"step": number, "action": cell.action.value}
                step |= {"before": cell.before, "after": cell.after}
                if cell.confidence is not None:
                    step["confidence"] = cell.confidence
                if cell.is_fixed:
                    step["fixed"] = True
                steps.append(step)
            entities.append({"name": row.name, "initial": row.initial, "steps": steps})
        grid: dict[str, Any] = {"id": self.id, "steps": list(self.steps), "entities": entities}
        if self.signature is not None:
            grid["signature"] = self.signature
        return grid

    def to_json(self) -> str:
        """Give the grid as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_tsv(self) -> str:
        """Give the grid in the leaderboard's six tab-separated columns, without a header."""
        return "".join(
            "\t".join(_one_line(cell) for cell in record) + "\n" for record in self._records()
        )

    def to_csv(self) -> str:
        """Give the grid as comma-separated values with a header."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(self._records())
        return out.getvalue()

    def _records(self) -> list[tuple[str, ...]]:
        return [
            (self.id, str(number), row.name, cell.action.value, cell.before, cell.after)
            for row in self.rows
            for number, cell in enumerate(row.steps, 1)
        ]

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Build a grid from plain values in the shape of the JSON files."""
        steps = _get(value, "steps", list)
        rows = []
        for entity in _get(value, "entities", list):
            rows.append(_row_from_dict(entity))
        if not all(isinstance(step, str) for step in steps):
            raise KoalaError('"steps" must be a list of strings.')
        signature = value.get("signature")
        if signature is not None and not isinstance(signature, str):
            raise KoalaError('"signature" must be a string.')
        return cls(str(_get(value, "id", (str, int))), tuple(steps), tuple(rows), signature)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Build a grid from JSON text."""
        return cls.from_dict(parse_json(text))


def _row_from_dict(entity: object) -> Row:
    name = _get(entity, "name", str)
    if not name.strip():
        raise KoalaError("An entity's name is empty.")
    steps = _get(entity, "steps", list)
    for number, step in enumerate(steps, 1):
        if isinstance(step, Mapping) and step.get("step", number) != number:
            raise KoalaError(f"Entity {name!r}: expected step {number}, got {step['step']!r}.")
    row = Row(name, tuple(_cell_from_dict(step) for step in steps))
    initial = entity.get("initial", row.initial) if isinstance(entity, Mapping) else row.initial
    if initial != row.initial:
        raise KoalaError(
            f"Entity {name!r}: initial is {initial!r}, but step 1 starts at {row.initial!r}."
        )
    return row


def _cell_from_dict(step: object) -> Cell:
    action = _get(step, "action", str)
    if action not in Action.__members__:
        known = ", ".join(Action)
        raise KoalaError(f"Action {action!r} is unknown; expected one of {known}.")
    confidence = step.get("confidence") if isinstance(step, Mapping) else None
    if confidence is not None and type(confidence) not in (int, float):
        raise KoalaError(f'"confidence" must be a number, got {confidence!r}.')
    cell = Cell(
        Action(action),
        _get(step, "before", str),
        _get(step, "after", str),
        confidence,
        is_fixed=isinstance(step, Mapping) and step.get("fixed") is True,
    )
    if cell.problem:
        raise KoalaError(cell.problem)
    return cell


def _get(value: object, key: str, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401
    if not isinstance(value, Mapping):
        raise KoalaError(f"Expected a JSON object with {key!r}, got {value!r:.60}.")
    if key not in value:
        raise KoalaError(f"{key!r} is missing; found: {', '.join(map(str, value)) or 'nothing'}.")
    if not isinstance(value[key], kind) or isinstance(value[key], bool):
        names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise KoalaError(f"{key!r} must be {names}, got {value[key]!r:.60}.")
    return value[key]


def _one_line(cell: str) -> str:
    """Replace tabs and line ends in a TSV cell by spaces."""
    return " ".join(cell.split()) if any(c in cell for c in "\t\n\r") else cell
