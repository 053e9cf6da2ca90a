"""The changes of a grid in words, each with its confidence, runner-up and evidence."""

from collections.abc import Iterator
from dataclasses import dataclass

from koala.display.marks import (
    Kind,
    clean,
    confidence_of,
    describe,
    describe_location,
    kind_of,
    name_of,
)
from koala.grid import Cell
from koala.grid.explanation import Evidence, Explanation, Reason
from koala.grid.states import Action

_N_TRIPLES = 3
_LEAST = 0.005
"""A runner-up with a lower probability is left out: it would show as 0%."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one step does to one entity, in words."""

    step: int
    """From 1."""
    name: str
    kind: Kind
    summary: str
    """What happens, the confidence, and the runner-up."""
    sentence: str
    """The text of the step, unchanged."""
    mentions: tuple[tuple[int, int], ...]
    """Character offsets of the entity's mentions in the sentence."""
    evidence: tuple[Evidence, ...]
    """The triples with the most attention."""


def find_changes(explanation: Explanation) -> Iterator[Change]:
    """Give the changes of a grid, in the order of the steps."""
    grid = explanation.grid
    for index, sentence in enumerate(grid.steps):
        for row, reasons in zip(grid.rows, explanation.reasons, strict=True):
            cell, reason = row.steps[index], reasons[index]
            if cell.action != Action.NONE:
                yield Change(
                    index + 1,
                    name_of(row),
                    kind_of(cell),
                    _describe_change(cell, reason),
                    sentence,
                    reason.mentions,
                    reason.evidence[:_N_TRIPLES],
                )


def describe_evidence(change: Change) -> str:
    """List the triples with their shares of the attention."""
    return "; ".join(f"{clean(each.sentence)}, {each.weight:.0%}" for each in change.evidence)


def _describe_change(cell: Cell, reason: Reason) -> str:
    summary = describe(cell)
    confidence = confidence_of(cell)
    if confidence is not None:
        summary += f", {confidence:.0%} sure"
    other, probability = find_runner_up(cell, reason)
    if probability < _LEAST:
        return summary
    # Rows are decoded as a whole, so the chosen cell may be less probable than another by itself.
    link = "or" if confidence is None or probability <= confidence else "by itself rather"
    return f"{summary}; {link} {clean(other)}, {probability:.0%}"


def find_runner_up(cell: Cell, reason: Reason) -> tuple[str, float]:
    """Find the most probable alternative to a change: another action, or another location."""
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
            (f"{to} {describe_location(location)}", share * probability)
            for location, probability in reason.locations.items()
            # A move to where the entity was is no move.
            if location not in (cell.before, cell.after)
        ]
    return max(choices, key=lambda choice: choice[1])
