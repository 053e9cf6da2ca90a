"""What table, page and graph share: marks, words, and text that is safe to show."""

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from koala.grid import Cell, Grid, Row
from koala.grid.explanation import Explanation
from koala.grid.states import ABSENT, UNKNOWN, Action, action_of

Shown = Grid | Explanation
"""What can be drawn: a grid, or a grid with the reasons for its cells."""


class Kind(StrEnum):
    """How a cell looks: its action or, where nothing happens, whether the entity is there."""

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
_TOLD: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.CREATE: "created at {after}",
        Kind.MOVE: "moved from {before} to {after}",
        Kind.DESTROY: "destroyed at {before}",
        Kind.EXISTS: "still at {after}",
        Kind.ABSENT: "does not exist",
    }
)
_LONGEST_NAME = 64
# Characters that turn the reading direction of what stands after them.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str) -> str:
    """Make text safe to show: runs of white space become a space, control characters become �.

    >>> clean("a\\tred \\x1b[31m leaf")
    'a red �[31m leaf'
    """
    return "".join(c if _is_safe(c) else "\ufffd" for c in " ".join(text.split()))


def _is_safe(character: str) -> bool:
    # Cs: half a surrogate pair, which UTF-8 cannot write.
    return unicodedata.category(character) not in ("Cc", "Cs") and character not in _DIRECTIONS


def shorten(text: str) -> str:
    """Make text safe to show, and no longer than a name should be."""
    text = clean(text)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1].rstrip()}…"


def grid_of(shown: Shown) -> Grid:
    """Give the grid alone."""
    return shown.grid if isinstance(shown, Explanation) else shown


def name_of(row: Row) -> str:
    """Give the names of an entity as one text."""
    return clean("; ".join(row.aliases))


def kind_of(cell: Cell) -> Kind:
    """Tell how a cell looks."""
    if cell.action != Action.NONE:
        return Kind[cell.action.name]
    return Kind.EXISTS if cell.exists else Kind.ABSENT


def location_of(cell: Cell) -> str:
    """Give the place to show in a cell: none where the symbol alone says it."""
    hidden = not cell.exists and kind_of(cell) in (Kind.DESTROY, Kind.ABSENT)
    return "" if hidden else clean(cell.after)


def tell(cell: Cell) -> str:
    """Say what happens in a cell: `moved from sea to air`."""
    before, after = tell_location(cell.before), tell_location(cell.after)
    return clean(_TOLD[kind_of(cell)].format(before=before, after=after))


def tell_location(location: str) -> str:
    """Name a place in a sentence."""
    return "an unknown location" if location == UNKNOWN else clean(location)


def confidence_of(cell: Cell) -> float | None:
    """Give a cell's confidence; a file may hold any number, only a probability is shown."""
    is_probability = cell.confidence is not None and 0 <= cell.confidence <= 1
    return cell.confidence if is_probability else None


def is_contradiction(row: Row, index: int) -> bool:
    """Tell whether a cell starts elsewhere than the last one ended, or its action does not fit."""
    cell = row.steps[index]
    fits = cell.action == action_of(cell.before, cell.after)
    return not fits or cell.before != row.locations[index]


def find_problems(grid: Grid) -> tuple[str, ...]:
    """Say for every row that contradicts itself where it first does."""
    return tuple(clean(f"{name_of(row)}: {row.problem}") for row in grid.rows if row.problem)


def title_of(grid: Grid) -> str:
    """Name a procedure; ids that are numbers need a word before them."""
    return f"Procedure {clean(grid.id)}" if grid.id.isdigit() else clean(grid.id)
