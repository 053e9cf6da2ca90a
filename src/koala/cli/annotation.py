"""A person goes through a grid: decisions on cells, undo, and what to ask next.

Every decision fixes a cell; the rest of the grid is decoded again given all of them.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from koala.document import FixedCell, Procedure
from koala.errors import FileError, KoalaError
from koala.files import parse_json, read_text, write_text
from koala.grid.explanation import Explanation

if TYPE_CHECKING:
    from koala.tracker import Tracker

_N_ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class Decision:
    """The location of one entity after one step, said to be right by a person."""

    row: int
    """Number of the entity, from 0."""
    step: int
    """0 is before the first step."""
    location: str


@dataclass(frozen=True, slots=True)
class Question:
    """A cell that nobody has decided on yet."""

    row: int
    step: int
    location: str
    """What the tracker says."""
    confidence: float
    alternatives: tuple[str, ...]
    """Other probable locations, best first."""


class Annotation:
    """The grid of one procedure, and the decisions of a person on its cells."""

    def __init__(
        self, tracker: "Tracker", procedure: Procedure, decisions: tuple[Decision, ...] = ()
    ) -> None:
        self._tracker = tracker
        self.procedure = procedure
        self.decisions = decisions
        self.shown = self._track(decisions)

    @property
    def n_cells(self) -> int:
        """Number of cells, with those before the first step."""
        return len(self.procedure.entities) * (len(self.procedure.steps) + 1)

    def decide(self, row: int, step: int, location: str) -> None:
        """Fix a cell and decode the rest again; a decision that contradicts others is an error.

        The grid is decoded again only if the decision changes a cell.
        """
        location = location.strip()
        rest = tuple(each for each in self.decisions if (each.row, each.step) != (row, step))
        decisions = (*rest, Decision(row, step, location))
        if self.shown.grid.rows[row].locations[step] != location:
            self.shown = self._track(decisions)
            # A location can have been written with an article; the grid names it as the text does.
            named = self.shown.grid.rows[row].locations[step]
            decisions = (*rest, Decision(row, step, named))
        self.decisions = decisions

    def undo(self) -> bool:
        """Take the last decision back; give False if there is none."""
        if not self.decisions:
            return False
        self.decisions = self.decisions[:-1]
        self.shown = self._track(self.decisions)
        return True

    def find_question(self) -> Question | None:
        """Give the least confident cell that is not decided; None if all are.

        The tracker has no confidence for the location before the first step; that of the first step
        stands for it.
        """
        decided = {(each.row, each.step) for each in self.decisions}
        open_cells = [
            (row.steps[max(step - 1, 0)].confidence or 0.0, number, step)
            for number, row in enumerate(self.shown.grid.rows)
            for step in range(len(row.steps) + 1)
            if (number, step) not in decided
        ]
        if not open_cells:
            return None
        confidence, number, step = min(open_cells)
        location = self.shown.grid.rows[number].locations[step]
        probable = self.shown.reasons[number][step - 1].locations if step else ()
        others = [each for each in probable if each != location][:_N_ALTERNATIVES]
        return Question(number, step, location, confidence, tuple(others))

    def _track(self, decisions: tuple[Decision, ...]) -> Explanation:
        fixed: dict[int, list[FixedCell]] = {}
        for each in decisions:
            fixed.setdefault(each.row, []).append(FixedCell(each.step, each.location))
        entities = [
            replace(entity, fixed=(*entity.fixed, *fixed.get(number, ())))
            for number, entity in enumerate(self.procedure.entities)
        ]
        return self._tracker.explain_all([replace(self.procedure, entities=tuple(entities))])[0]


def save_progress(annotation: Annotation, path: Path) -> None:
    """Write the decisions to a file, with the text that they are about."""
    value = {
        "steps": [step.text for step in annotation.procedure.steps],
        "entities": [entity.name for entity in annotation.procedure.entities],
        "decisions": [asdict(each) for each in annotation.decisions],
    }
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_progress(path: Path, procedure: Procedure) -> tuple[tuple[str, ...], tuple[Decision, ...]]:
    """Read entities and decisions that were saved for the same steps."""
    value = parse_json(read_text(path))
    try:
        steps, names = value["steps"], tuple(map(str, value["entities"]))
        decisions = tuple(Decision(**each) for each in value["decisions"])
    except (KeyError, TypeError) as error:
        raise FileError(
            path, f"not a saved annotation ({error!r}). Delete it to begin again."
        ) from None
    if steps != [step.text for step in procedure.steps]:
        raise FileError(
            path,
            "holds an unfinished annotation of another text. Finish that one, delete the file, or "
            "choose another -o.",
        )
    return names, decisions


def apply_fixes(annotation: Annotation, fixes: dict[tuple[str, int], str]) -> None:
    """Decide cells that are given by the names of their entities."""
    names = [
        {name.lower() for name in (entity.name, *entity.aliases)}
        for entity in annotation.procedure.entities
    ]
    n_steps = len(annotation.procedure.steps)
    for (name, step), location in fixes.items():
        row = next((n for n, known in enumerate(names) if name.strip().lower() in known), None)
        if row is None:
            known = ", ".join(entity.name for entity in annotation.procedure.entities)
            raise KoalaError(f"--fix {name}@{step}: no such entity. Entities: {known}.")
        if step > n_steps:
            raise KoalaError(
                f"--fix {name}@{step}: the procedure has steps 1 to {n_steps} (0: before the "
                "first)."
            )
        annotation.decide(row, step, location)
