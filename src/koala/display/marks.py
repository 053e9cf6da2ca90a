"""Symbols and words that table, page and graph share, and text made safe for display."""

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from koala.grid import Cell, Grid, Row, TextSpan
from koala.grid.explanation import Explanation
from koala.grid.states import ABSENT, UNKNOWN, Action, action_of

Shown = Grid | Explanation
"""What can be displayed: a grid, or a grid with the reasons for its cells."""


class Kind(StrEnum):
    """How a cell looks: its action or, if nothing happens, whether the entity exists."""

    CREATE = "create"
    MOVE = "move"
    DESTROY = "destroy"
    EXISTS = "exists"
    ABSENT = "absent"


SYMBOLS: Mapping[Kind, str] = MappingProxyType(
    dict(zip(Kind, ("+", "→", "×", "·", ABSENT), strict=True))
)
WORDS: Mapping[Kind, str] = MappingProxyType(
    dict(zip(Kind, ("created", "moved", "destroyed", "unchanged", "does not exist"), strict=True))
)
_DESCRIPTIONS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.CREATE: "created at {after}",
        Kind.MOVE: "moved from {before} to {after}",
        Kind.DESTROY: "destroyed at {before}",
        Kind.EXISTS: "still at {after}",
        Kind.ABSENT: "does not exist",
    }
)
_LONGEST_NAME = 64
# Characters that change the writing direction of the text after them.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """Make text safe for display: white space becomes a single space, control characters �.

    >>> clean("a\\tred \\x1b[31m leaf")
    'a red �[31m leaf'
    """
    return "".join(c if _is_safe(c) else "\ufffd" for c in " ".join(text.split()))


def _is_safe(character: str) -> bool:
    # Cs: half a surrogate pair, which UTF-8 cannot encode.
    return unicodedata.category(character) not in ("Cc", "Cs") and character not in _DIRECTIONS


def shorten(text: str) -> str:
    """Make text safe for display, and cut it to the length of a long name."""
    text = clean(text)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1].rstrip()}…"


def grid_of(shown: Shown) -> Grid:
    """Give the grid, without reasons."""
    return shown.grid if isinstance(shown, Explanation) else shown


def name_of(row: Row) -> str:
    """Give the aliases of an entity as one text."""
    return clean("; ".join(row.aliases))


def kind_of(cell: Cell) -> Kind:
    """Give the kind of a cell."""
    if cell.action != Action.NONE:
        return Kind[cell.action.name]
    return Kind.EXISTS if cell.exists else Kind.ABSENT


def location_of(cell: Cell) -> str:
    """Give the location to show in a cell; empty if the symbol says it all."""
    hidden = not cell.exists and kind_of(cell) in (Kind.DESTROY, Kind.ABSENT)
    return "" if hidden else clean(cell.after)


UNNAMED = "*"
"""Mark after an entity or a location that the text does not name."""


def is_unnamed(grid: Grid, location: str, span: TextSpan | None) -> bool:
    """Tell whether a location of a grounded grid is not named in the text."""
    return grid.is_grounded and span is None and location not in (ABSENT, UNKNOWN)


def mark_name(grid: Grid, row: Row) -> str:
    """Give the aliases of an entity, with a mark if the text never names it."""
    is_marked = grid.is_grounded and not row.mentions
    return name_of(row) + (UNNAMED if is_marked else "")


def mark_location(grid: Grid, row: Row, position: int) -> str:
    """Give a location as a cell shows it, with a mark if the text does not name it.

    Position 0 is before step 1, which shows `-`, too.
    """
    cell = row.steps[position - 1] if position else None
    text = location_of(cell) if cell else clean(row.initial)
    span = row.location_spans[position]
    is_marked = bool(text) and is_unnamed(grid, row.locations[position], span)
    return text + (UNNAMED if is_marked else "")


def list_unnamed(grid: Grid) -> list[str]:
    """Give the entities and locations that the text does not name."""
    names = [name_of(row) for row in grid.rows if grid.is_grounded and not row.mentions]
    for row in grid.rows:
        places = zip(row.locations, row.location_spans, strict=True)
        names += [clean(location) for location, span in places if is_unnamed(grid, location, span)]
    return list(dict.fromkeys(names))


def describe(cell: Cell) -> str:
    """Describe a cell in words: `moved from sea to air`."""
    before, after = describe_location(cell.before), describe_location(cell.after)
    return clean(_DESCRIPTIONS[kind_of(cell)].format(before=before, after=after))


def describe_location(location: str) -> str:
    """Give a location as part of a sentence."""
    return "an unknown location" if location == UNKNOWN else clean(location)


def confidence_of(cell: Cell) -> float | None:
    """Give a cell's confidence, or None if it is no probability: a file may hold any number."""
    is_probability = cell.confidence is not None and 0 <= cell.confidence <= 1
    return cell.confidence if is_probability else None


def is_contradiction(row: Row, index: int) -> bool:
    """Tell whether a cell contradicts the cell before it, or its action its locations."""
    cell = row.steps[index]
    fits = cell.action == action_of(cell.before, cell.after)
    return not fits or cell.before != row.locations[index]


def find_problems(grid: Grid) -> tuple[str, ...]:
    """Describe the first contradiction of every row that has one."""
    return tuple(clean(f"{name_of(row)}: {row.problem}") for row in grid.rows if row.problem)


def title_of(grid: Grid) -> str:
    """Give the title of a procedure: its id, after a word if the id is a number."""
    return f"Procedure {clean(grid.id)}" if grid.id.isdigit() else clean(grid.id)
