"""Grids of ProPara's single annotators: about five per paragraph, from which gold was made.

The file lists only changes; blank lines separate annotators. The location of an entity before its
first change is the `From` of that change. For an entity without changes, no location is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from koala.errors import FileError
from koala.files import read_blocks, read_int
from koala.grid import Grid, Row
from koala.grid.states import ABSENT, LAST_TAGS, UNKNOWN

_COLUMNS = ("PID", "SID", "Step", "Participant", "Type", "From", "To")
PATTERN = "all-moves*.tsv"
"""Name of the file of changes."""

NOT_ANNOTATED = ""
"""The location of an entity for which an annotator gave none; unlike this, `?` was annotated."""

_NO_STEP = "?"
"""The step of a change that the annotator assigned to no step."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an entity at a step, as an annotator marked it; steps count from 1."""

    step: int
    name: str
    kind: str
    before: str
    after: str


def find_changes(folder: Path) -> Path:
    """Find the file of changes in the folder of the published labels."""
    found = sorted(folder.glob(PATTERN))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise FileError(folder, f"expected one file {PATTERN}, found {names}.")
    return found[0]


def read_changes(path: str | Path) -> dict[str, list[list[Change]]]:
    """Read the changes of each annotator by paragraph; changes without a step are skipped."""
    found: dict[str, list[list[Change]]] = {}
    for block in read_blocks(path, _COLUMNS):
        last: str | None = None
        for number, row in block:
            if number == 1 or row[1] == _NO_STEP:
                continue
            if row[0] != last:
                found.setdefault(row[0], []).append([])
            last = row[0]
            step = read_int(row[1], "the step", path=path, line=number)
            locations = (row[5].strip().lower(), row[6].strip().lower())
            found[row[0]][-1].append(Change(step, row[3], row[4], *locations))
    return found


def build_grids(gold: Grid, annotators: Sequence[Sequence[Change]]) -> tuple[Grid, ...]:
    """Build the grid of each annotator from the changes.

    Entities with the same name cannot be told apart and are copied from gold. If the changes of an
    annotator contradict each other, the later one counts.
    """
    names = [row.name for row in gold.rows]
    grids = []
    for changes in annotators:
        rows = [row if names.count(row.name) > 1 else _build_row(row, changes) for row in gold.rows]
        grids.append(Grid(gold.id, gold.steps, tuple(rows)))
    return tuple(grids)


def _build_row(gold: Row, changes: Sequence[Change]) -> Row:
    aliases = {alias.lower() for alias in (gold.name, *gold.aliases)}
    own = [
        change
        for change in changes
        if 1 <= change.step <= len(gold.steps)
        and aliases & {alias.strip().lower() for alias in (change.name, *change.name.split(";"))}
    ]
    own.sort(key=lambda change: change.step)
    if not own and ABSENT in gold.locations:
        # Annotators agree on when entities exist: one without changes here skipped the entity.
        return gold
    if not own:
        return Row.from_locations(gold.name, [NOT_ANNOTATED] * (len(gold.steps) + 1))
    locations = [own[0].before or UNKNOWN] * (len(gold.steps) + 1)
    for change in own:
        locations[change.step :] = [change.after or UNKNOWN] * (len(locations) - change.step)
    row = Row.from_locations(gold.name, locations)
    # Every entity of ProPara exists at some time.
    return row if row.tags[-1] in LAST_TAGS else gold
