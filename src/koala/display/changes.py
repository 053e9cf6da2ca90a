"""The changes of a grid in words, each with what speaks for it and what else might have been."""

from collections.abc import Iterator
from dataclasses import dataclass

from koala.display.marks import Kind, clean, confidence_of, kind_of, name_of, tell, tell_location
from koala.grid import Cell
from koala.grid.explanation import Evidence, Explanation, Reason
from koala.grid.states import Action

_N_TRIPLES = 3
_LEAST = 0.005
"""A runner-up of less would be called 0%."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one step did to one entity, for people."""

    step: int
    """From 1."""
    name: str
    kind: Kind
    told: str
    """What happened, how sure, and the runner-up."""
    sentence: str
    """The step's own text, as it is."""
    mentions: tuple[tuple[int, int], ...]
    """Where the sentence names the entity."""
    evidence: tuple[Evidence, ...]
    """The triples that were attended to most."""


def find_changes(explanation: Explanation) -> Iterator[Change]:
    """Give the changes of a grid in the order of the text."""
    grid = explanation.grid
    for index, sentence in enumerate(grid.steps):
        for row, reasons in zip(grid.rows, explanation.reasons, strict=True):
            cell, reason = row.steps[index], reasons[index]
            if cell.action != Action.NONE:
                yield Change(
                    index + 1,
                    name_of(row),
                    kind_of(cell),
                    _tell_change(cell, reason),
                    sentence,
                    reason.mentions,
                    reason.evidence[:_N_TRIPLES],
                )


def tell_evidence(change: Change) -> str:
    """Name the triples with their shares of the attention."""
    told = [f"{clean(each.sentence)}, {each.weight:.0%}" for each in change.evidence]
    return "; ".join(told)


def _tell_change(cell: Cell, reason: Reason) -> str:
    told = tell(cell)
    confidence = confidence_of(cell)
    if confidence is not None:
        told += f", {confidence:.0%} sure"
    other, probability = find_runner_up(cell, reason)
    if probability < _LEAST:
        return told
    # A row must fit together, so a cell may be less probable than another in its place.
    but = "or" if confidence is None or probability <= confidence else "by itself rather"
    return f"{told}; {but} {clean(other)}, {probability:.0%}"


def find_runner_up(cell: Cell, reason: Reason) -> tuple[str, float]:
    """Find what is most probable beside a change: another action, or the same to another place."""
    others = {
        Action.NONE: "not yet" if cell.action == Action.CREATE else "stays where it is",
        Action.CREATE: "created",
        Action.MOVE: "moved",
        Action.DESTROY: "destroyed",
    }
    choices = [(others[a], p) for a, p in reason.actions.items() if a != cell.action]
    if cell.exists:
        to = "to" if cell.action == Action.MOVE else "at"
        share = reason.actions[cell.action]
        choices += [
            (f"{to} {tell_location(location)}", share * probability)
            for location, probability in reason.locations.items()
            # A move to where it was would be none.
            if location not in (cell.before, cell.after)
        ]
    return max(choices, key=lambda choice: choice[1])
