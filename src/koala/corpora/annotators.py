"""What single annotators of ProPara said: about five grids a paragraph, of which gold was made.

The file lists changes alone, blank lines stand between annotators. Where an entity was before its
first change is the change's `From`; of an entity that does not change nothing says where it is.
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
"""What the file of changes is called."""

UNSAID = ""
"""The place of an entity of which an annotator did not say where it is; `?` was said."""

_NO_STEP = "?"


@dataclass(frozen=True, slots=True)
class Change:
    """That a step changes an entity, as an annotator saw it; steps count from 1."""

    step: int
    name: str
    kind: str
    before: str
    after: str


def find_changes(folder: Path) -> Path:
    """Find the file of changes in the folder of the published labels."""
    found = sorted(folder.glob(PATTERN))
    if len(found) != 1:
        came = ", ".join(path.name for path in found) or "none"
        raise FileError(folder, f"one file {PATTERN} was expected, {came} came.")
    return found[0]


def read_changes(path: str | Path) -> dict[str, list[list[Change]]]:
    """Read the changes that each annotator of each paragraph saw; those of no step are left out."""
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
    """Build the grid of each annotator; entities of one name, who cannot be told apart, as in gold.

    Annotators who contradict themselves are taken at their later word.
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
        # When things exist all annotators agree: who saw no change here did not look.
        return gold
    if not own:
        return Row.from_locations(gold.name, [UNSAID] * (len(gold.steps) + 1))
    locations = [own[0].before or UNKNOWN] * (len(gold.steps) + 1)
    for change in own:
        locations[change.step :] = [change.after or UNKNOWN] * (len(locations) - change.step)
    row = Row.from_locations(gold.name, locations)
    # An entity that is never there is none.
    return row if row.tags[-1] in LAST_TAGS else gold
