"""Published labels of the sentence-level evaluation, by several annotators per process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from koala.corpora.annotators import Change, find_changes, read_changes
from koala.errors import FileError
from koala.evaluation.locations import PUBLISHED
from koala.files import is_folder, read_tsv

ABSENT, UNKNOWN = PUBLISHED["-"], PUBLISHED["?"]
"""Names of `-` and `?` in the published scripts."""

_MAX_DISTANCE = 2


@dataclass(frozen=True, slots=True)
class Trajectory:
    """When and where an entity is created, destroyed and moved; steps count from 1."""

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
    """Labels of each annotator for each entity that any of them labelled."""

    names: tuple[str, ...]
    """All gold names of the process, labelled or not; predictions are aligned to these."""
    annotators: tuple[Mapping[str, Trajectory], ...]

    @property
    def fingerprint(self) -> str:
        """Text that changes if a label changes."""
        return repr((self.names, [sorted(each.items()) for each in self.annotators]))


def read_labels(folder: str | Path, processes: Iterable[str]) -> dict[str, ProcessLabels]:
    """Read the labels of some processes from the folder of published labels."""
    folder = Path(folder)
    if not is_folder(folder):
        raise FileError(folder, "no such folder. Give the folder of the sentence-level labels.")
    names = _read_names(folder)
    changes = read_changes(find_changes(folder))
    labels = {}
    for id in processes:
        if id not in names or id not in changes:
            raise FileError(folder, f"no labels for process {id}. Leave out --labels to score "
                            "against the gold grid alone.")  # fmt: skip
        labels[id] = _build_labels(names[id], changes[id])
    return labels


def align_name(name: str, gold: Sequence[str]) -> str:
    """Give the equal gold name, else the first one nearby, else the predicted name itself."""
    return name if name in gold else next(iter(find_near(name, gold)), name)


def find_near(name: str, gold: Sequence[str]) -> list[str]:
    """Find the gold names at an edit distance of at most two."""
    from rapidfuzz.distance import Levenshtein

    return [
        other
        for other in gold
        if Levenshtein.distance(name, other, score_cutoff=_MAX_DISTANCE) <= _MAX_DISTANCE
    ]


def _read_names(folder: Path) -> dict[str, tuple[str, ...]]:
    """Read the gold names of every process, in the order of the files."""
    paths = sorted(folder.glob("gold_labels*.tsv"))
    if not paths:
        raise FileError(
            folder, "no file gold_labels*.tsv. Give the folder of the sentence-level labels."
        )
    names: dict[str, dict[str, None]] = {}
    for path in paths:
        for _, row in read_tsv(path, ("process", "step", "participant")):
            names.setdefault(row[0], {})[row[2]] = None
    return {id: tuple(found) for id, found in names.items()}


def to_published(location: str) -> str:
    """Write a location as the published scripts do; an empty one is unknown."""
    location = location.lower()
    return PUBLISHED.get(location, location) or UNKNOWN


def _build_labels(names: Sequence[str], annotators: Sequence[Sequence[Change]]) -> ProcessLabels:
    by_annotator = [_group_by_name(names, changes) for changes in annotators]
    asked = [name for name in names if any(name in own for own in by_annotator)]
    return ProcessLabels(
        tuple(names),
        tuple(
            {name: _build_trajectory(own.get(name, [])) for name in asked} for own in by_annotator
        ),
    )


def _group_by_name(names: Sequence[str], changes: Sequence[Change]) -> dict[str, list[Change]]:
    """Group changes by gold name; an annotator's name counts for every gold name near it."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        for alias in change.name.split(";"):
            for name in find_near(alias.strip().lower(), names):
                found.setdefault(name, []).append(change)
    return found


def _build_trajectory(changes: Sequence[Change]) -> Trajectory:
    events: dict[str, list[tuple[int, str, str]]] = {}
    for change in changes:
        locations = (to_published(change.before), to_published(change.after))
        events.setdefault(change.kind, []).append((change.step, *locations))
    created = [(step, after) for step, _, after in events.get("create", ())]
    destroyed = [(step, before) for step, before, _ in events.get("destroy", ())]
    return Trajectory(
        created[0] if created else None,
        destroyed[0] if destroyed else None,
        tuple(events.get("move", ())),
    )
