"""The published labels of the sentence-level evaluation: several annotators a process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from koala.errors import FileError
from koala.evaluation.places import PUBLISHED
from koala.files import is_folder, read_int, read_text, read_tsv

ABSENT, UNKNOWN = PUBLISHED["-"], PUBLISHED["?"]
"""How the sentence level calls `-` and `?`."""

_COLUMNS = ("PID", "SID", "Step", "Participant", "Type", "From", "To")
_MAX_DISTANCE = 2


@dataclass(frozen=True, slots=True)
class Life:
    """When and where something is created, destroyed and moved; steps count from 1."""

    created: tuple[int, str] | None = None
    destroyed: tuple[int, str] | None = None
    moves: tuple[tuple[int, str, str], ...] = ()

    @property
    def last_step(self) -> int:
        """The last step at which something happens."""
        ends = [event[0] for event in (self.created, self.destroyed) if event]
        return max([*ends, *(move[0] for move in self.moves)], default=0)


@dataclass(frozen=True, slots=True)
class ProcessLabels:
    """What each annotator says of each entity that any of them speaks of."""

    names: tuple[str, ...]
    """All gold names of the process, asked about or not: predictions are aligned to these."""
    annotators: tuple[Mapping[str, Life], ...]

    @property
    def fingerprint(self) -> str:
        """Text that changes when a label does."""
        return repr((self.names, [sorted(each.items()) for each in self.annotators]))


def read_labels(folder: str | Path, processes: Iterable[str]) -> dict[str, ProcessLabels]:
    """Read the labels of some processes from the folder of published labels."""
    folder = Path(folder)
    if not is_folder(folder):
        raise FileError(folder, "no such folder. Give the folder of sentence-level labels.")
    names = _read_names(folder)
    blocks = _read_blocks(_only(folder, "all-moves*.tsv"))
    labels = {}
    for id in processes:
        if id not in names or id not in blocks:
            raise FileError(folder, f"no labels for process {id}. Leave out --labels to score "
                            "against the gold grid alone.")  # fmt: skip
        labels[id] = _build_labels(names[id], blocks[id])
    return labels


def align_name(name: str, gold: Sequence[str]) -> str:
    """Give the gold name that a predicted name stands for: equal, else nearly, else itself."""
    return name if name in gold else next(iter(find_near(name, gold)), name)


def find_near(name: str, gold: Sequence[str]) -> list[str]:
    """Find the gold names at an edit distance below three."""
    from rapidfuzz.distance import Levenshtein

    return [
        other
        for other in gold
        if Levenshtein.distance(name, other, score_cutoff=_MAX_DISTANCE) <= _MAX_DISTANCE
    ]


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        came = ", ".join(path.name for path in found) or "none"
        raise FileError(folder, f"one file {pattern} was expected, {came} came.")
    return found[0]


def _read_names(folder: Path) -> dict[str, tuple[str, ...]]:
    """Read the gold names of every process, in the order of the files."""
    paths = sorted(folder.glob("gold_labels*.tsv"))
    if not paths:
        raise FileError(folder, "no file gold_labels*.tsv is here.")
    names: dict[str, dict[str, None]] = {}
    for path in paths:
        for _, row in read_tsv(path, ("process", "step", "participant")):
            names.setdefault(row[0], {})[row[2]] = None
    return {id: tuple(found) for id, found in names.items()}


_Row = tuple[int, str, str, str, str]


def _read_blocks(path: Path) -> dict[str, list[list[_Row]]]:
    """Read the rows of each annotator; blank lines stand between annotators."""
    blocks: dict[str, list[list[_Row]]] = {}
    last: str | None = None
    for number, line in enumerate(read_text(path).split("\n"), 1):
        row = line.split("\t")
        if not line.strip():
            last = None
        elif len(row) < len(_COLUMNS):
            problem = f"{len(row)} columns came, {len(_COLUMNS)} were expected."
            raise FileError(path, problem, line=number)
        elif number > 1 and row[1] != "?":
            if row[0] != last:
                blocks.setdefault(row[0], []).append([])
            last = row[0]
            step = read_int(row[1], "the step", path=path, line=number)
            places = (publish_place(row[5].strip()), publish_place(row[6].strip()))
            blocks[row[0]][-1].append((step, row[3], row[4], *places))
    return blocks


def publish_place(place: str) -> str:
    """Write a place as the published scripts do; an empty one is unknown."""
    place = place.lower()
    return PUBLISHED.get(place, place) or UNKNOWN


def _build_labels(names: Sequence[str], blocks: Sequence[Sequence[_Row]]) -> ProcessLabels:
    by_annotator = [_group_by_name(names, block) for block in blocks]
    asked = [name for name in names if any(name in rows for rows in by_annotator)]
    annotators = tuple(
        {name: _build_life(rows.get(name, [])) for name in asked} for rows in by_annotator
    )
    return ProcessLabels(tuple(names), annotators)


def _group_by_name(names: Sequence[str], block: Sequence[_Row]) -> dict[str, list[_Row]]:
    """Deal rows to the gold names; an annotator's name counts for every gold name near it."""
    rows: dict[str, list[_Row]] = {}
    for row in block:
        for alias in row[1].split(";"):
            for name in find_near(alias.strip().lower(), names):
                rows.setdefault(name, []).append(row)
    return rows


def _build_life(rows: Sequence[_Row]) -> Life:
    created = [(step, after) for step, _, kind, _, after in rows if kind == "create"]
    destroyed = [(step, before) for step, _, kind, before, _ in rows if kind == "destroy"]
    moves = ((step, before, after) for step, _, kind, before, after in rows if kind == "move")
    return Life(created[0] if created else None, destroyed[0] if destroyed else None, tuple(moves))
