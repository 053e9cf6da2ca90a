"""Views of a grid: by location, by step, by entity (timeline), and the combinations of a recipe.

All of them are plain values read off a grid; `koala.display.views` renders them.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from koala.document import split_aliases
from koala.errors import KoalaError
from koala.grid.grid import Grid
from koala.grid.rows import Row
from koala.grid.spans import TextSpan, write_span
from koala.grid.states import ABSENT, UNKNOWN, Action


@dataclass(frozen=True, slots=True)
class Stay:
    """An entity at one location, or absent, over some positions; position 0 is before step 1."""

    location: str
    first: int
    last: int
    span: TextSpan | None = None
    """Where the text names the location, if it does and the grid is grounded."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a step does to an entity."""

    entity: str
    action: Action
    before: str
    after: str
    span: TextSpan | None = None
    """Where the text names the location after the step, if it does and the grid is grounded."""

    @property
    def sentence(self) -> str:
        """The change as a clause: `water moves from the jug to the pot`."""
        name = split_aliases(self.entity)[0]
        verb, auxiliary = ("", "are") if _is_plural(name) else ("s", "is")
        match self.action:
            case Action.CREATE:
                return f"{name} appear{verb}{_where(' in', self.after)}"
            case Action.DESTROY:
                return f"{name} {auxiliary} used up{_where(' in', self.before)}"
            case Action.MOVE:
                where = f"{_where(' from', self.before)}{_where(' to', self.after)}"
                return f"{name} move{verb}{where}"
            case _:
                return f"{name} stay{verb}{_where(' in', self.after)}"


@dataclass(frozen=True, slots=True)
class StepView:
    """One step: the entities that change in it."""

    number: int
    text: str
    changes: tuple[Change, ...]
    span: TextSpan | None = None
    """Where the step stands in the text, if the grid is grounded."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Entities that the step uses up."""
        return self._having(Action.DESTROY)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Entities that appear in the step."""
        return self._having(Action.CREATE)

    @property
    def moves(self) -> tuple[Change, ...]:
        """Changes of location."""
        return tuple(change for change in self.changes if change.action == Action.MOVE)

    @property
    def sentence(self) -> str:
        """All changes as one sentence."""
        clauses = "; ".join(change.sentence for change in self.changes) or "nothing changes"
        return f"{clauses[0].upper()}{clauses[1:]}."

    def _having(self, action: Action) -> tuple[str, ...]:
        return tuple(change.entity for change in self.changes if change.action == action)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, as they stand in JSON."""
        moves: list[dict[str, Any]] = [
            {"entity": move.entity, "from": move.before, "to": move.after} for move in self.moves
        ]
        value: dict[str, Any] = {"step": self.number, "text": self.text}
        if self.span is not None:
            value["span"] = self.span.to_dict()
            for own, move in zip(moves, self.moves, strict=True):
                own["to_span"] = write_span(move.span)
        value |= {"inputs": list(self.inputs), "outputs": list(self.outputs), "moves": moves}
        return value | {"sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class Combination:
    """Ingredients that a step of a recipe brings to one location, as a nested tree.

    A leaf is an ingredient; `step` is 0 for it.
    """

    name: str
    step: int = 0
    parts: tuple["Combination", ...] = ()

    @property
    def ingredients(self) -> tuple[str, ...]:
        """The ingredients of the whole tree, in their order."""
        if not self.parts:
            return (self.name,)
        return tuple(name for part in self.parts for name in part.ingredients)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values, as they stand in JSON."""
        return asdict(self)


def find_at(grid: Grid, location: str, step: int) -> tuple[str, ...]:
    """Name the entities at a location after a step, those inside other entities there included.

    Step 0 is before the first step.
    """
    if not 0 <= step <= len(grid.steps):
        raise KoalaError(f"Step {step} came; the procedure has steps 1 to {len(grid.steps)}.")
    every = {name.lower() for row in grid.rows for name in row.locations}
    known = every - {ABSENT, UNKNOWN}
    if location.lower() not in known | {row.name.lower() for row in grid.rows}:
        raise KoalaError(
            f"Location {location!r} is not in the grid. Locations: {', '.join(sorted(known))}."
        )
    found: list[str] = []
    wanted = [location.lower()]
    while wanted:
        here = wanted.pop()
        for row in grid.rows:
            if row.locations[step].lower() == here and row.name not in found:
                found.append(row.name)
                wanted += [alias.lower() for alias in row.aliases]
    return tuple(name for name in grid.names if name in found)


def view_locations(grid: Grid) -> list[dict[str, tuple[str, ...]]]:
    """Give the entities at every location, before step 1 and after every step."""
    views = []
    for position in range(len(grid.steps) + 1):
        here: dict[str, list[str]] = {}
        for row in grid.rows:
            if row.locations[position] != ABSENT:
                here.setdefault(row.locations[position], []).append(row.name)
        views.append({location: tuple(names) for location, names in here.items()})
    return views


def view_steps(grid: Grid) -> list[StepView]:
    """Give the changes of every step."""
    return [
        StepView(
            number,
            text,
            tuple(
                Change(row.name, cell.action, cell.before, cell.after, cell.location_span)
                for row in grid.rows
                if (cell := row.steps[number - 1]).action != Action.NONE
            ),
            grid.step_spans[number - 1] if grid.step_spans is not None else None,
        )
        for number, text in enumerate(grid.steps, 1)
    ]


def view_timeline(row: Row) -> list[Stay]:
    """Give the locations of an entity one after the other, each as long as it lasts."""
    stays: list[Stay] = []
    places = zip(row.locations, row.location_spans, strict=True)
    for position, (location, span) in enumerate(places):
        if stays and stays[-1].location == location:
            stays[-1] = replace(stays[-1], last=position)
        else:
            stays.append(Stay(location, position, position, span))
    return stays


def view_combinations(grid: Grid) -> list[Combination]:
    """Give what a recipe combines with what, as trees: one for each dish that is left at the end.

    Ingredients are combined by the step that first brings them to one location.
    """
    groups = [Combination(row.name) for row in grid.rows]
    for number, text in enumerate(grid.steps, 1):
        for location in dict.fromkeys(_find_arrivals(grid, number)):
            joined = [group for group in groups if _is_at(grid, group, location, number)]
            if len(joined) > 1:
                made = Combination(text, number, tuple(joined))
                groups = [made if group is joined[0] else group for group in groups]
                groups = [group for group in groups if group not in joined[1:]]
    return groups


def view_recipe(grid: Grid) -> list[dict[str, Any]]:
    """Give for every step the ingredients it moves, and those that are with them afterwards."""
    views = []
    for number, text in enumerate(grid.steps, 1):
        cells = {row.name: row.steps[number - 1] for row in grid.rows}
        used = [name for name, cell in cells.items() if cell.action != Action.NONE]
        places = {cells[name].after for name in used} - {ABSENT, UNKNOWN}
        together = [
            name for name, cell in cells.items() if cell.after in places and name not in used
        ]
        views.append(
            {
                "step": number,
                "text": text,
                "uses": used,
                "combined_with": together,
                "locations": sorted(places),
            }
        )
    return views


def _find_arrivals(grid: Grid, number: int) -> list[str]:
    cells = [row.steps[number - 1] for row in grid.rows]
    return [
        cell.after
        for cell in cells
        if cell.action != Action.NONE and cell.after not in (ABSENT, UNKNOWN)
    ]


def _is_at(grid: Grid, group: Combination, location: str, number: int) -> bool:
    """Tell whether any ingredient of a group is at a location after a step."""
    return any(grid[name].locations[number] == location for name in group.ingredients)


def _is_plural(name: str) -> bool:
    """Guess whether a name is a plural, by its ending and a few words that have none.

    >>> [_is_plural(name) for name in ("coffee grounds", "bacteria", "glass", "pot of eggs")]
    [True, True, False, False]
    """
    head = re.split(r" (?:of|in|for|from|with|on) ", name.lower())[0].rsplit(" ", 1)[-1]
    if head in _PLURALS:
        return True
    return head.endswith("s") and not head.endswith(("ss", "us", "is")) and head not in _SINGULARS


_PLURALS = frozenset({"bacteria", "children", "feet", "fungi", "larvae", "mice", "people", "teeth"})
_SINGULARS = frozenset({"gas", "lens", "molasses", "series", "species"})


def _where(preposition: str, location: str) -> str:
    return "" if location in (ABSENT, UNKNOWN) else f"{preposition} {location}"


def find_views(grids: Sequence[Grid], view: str) -> list[Any]:
    """Give a view of several grids as plain values, for JSON."""
    return [_find_view(grid, view) for grid in grids]


def _find_view(grid: Grid, view: str) -> dict[str, Any]:
    values: Any
    rest: dict[str, Any] = {}
    match view:
        case "locations":
            values = view_locations(grid)
            if grid.is_grounded:
                rest["location_spans"] = _find_spans(grid)
        case "steps":
            values = [each.to_dict() for each in view_steps(grid)]
        case "timeline":
            values = {
                row.name: [_write_stay(grid, stay) for stay in view_timeline(row)]
                for row in grid.rows
            }
        case "combinations" | "recipe":
            trees = [tree.to_dict() for tree in view_combinations(grid)]
            values = {"steps": view_recipe(grid), "combinations": trees}
        case _:
            raise KoalaError(f"View {view!r} is unknown. Known: {', '.join(VIEWS)}.")
    return {"id": grid.id, "view": view, view: values, **rest}


def _find_spans(grid: Grid) -> list[dict[str, dict[str, int] | None]]:
    """Give for every position the span of each location; null if the text does not name it."""
    spans: list[dict[str, dict[str, int] | None]] = []
    for position in range(len(grid.steps) + 1):
        here: dict[str, dict[str, int] | None] = {}
        for row in grid.rows:
            if row.locations[position] != ABSENT:
                here.setdefault(row.locations[position], write_span(row.location_spans[position]))
        spans.append(here)
    return spans


def _write_stay(grid: Grid, stay: Stay) -> dict[str, Any]:
    value: dict[str, Any] = {"location": stay.location, "first": stay.first, "last": stay.last}
    return value | {"span": write_span(stay.span)} if grid.is_grounded else value


VIEWS = ("locations", "steps", "timeline", "combinations", "recipe")
"""Names of the views; `recipe` is another name of `combinations`."""
