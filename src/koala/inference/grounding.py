"""Ground grids: say where in the user's text each step, entity and location is named."""

from collections.abc import Sequence
from dataclasses import replace

from koala.decoding import Names
from koala.decoding.location_groups import group_names
from koala.document import Entity, Procedure, Span
from koala.document.mentions import find_phrase
from koala.grid import Cell, Row
from koala.grid.spans import Mention, TextSpan
from koala.grid.states import ABSENT, UNKNOWN, Action


def find_step_spans(procedure: Procedure) -> tuple[TextSpan, ...] | None:
    """Give the span of every step; None if the procedure does not come from a user's text."""
    located = [step.locate(0, len(step.text)) for step in procedure.steps]
    spans = tuple(TextSpan(*offsets) for offsets in located if offsets is not None)
    return spans if len(spans) == len(procedure.steps) else None


def ground_rows(
    rows: Sequence[Row], entities: Sequence[Entity], procedure: Procedure, names: Names
) -> list[Row]:
    """Add to rows where the text names their entities and locations.

    `names` are the names of the location candidates, `?` first.
    """
    if find_step_spans(procedure) is None:
        return list(rows)
    finder = _Finder(procedure, names)
    return [_ground(row, entity, finder) for row, entity in zip(rows, entities, strict=True)]


class _Finder:
    """Finds the mention of a location that is nearest to a step.

    Under koala's annotation convention, other names of the same location count, too: "column" for
    "spin column".
    """

    def __init__(self, procedure: Procedure, names: Names) -> None:
        self._procedure = procedure
        self._own = {
            name: list(candidate.mentions)
            for name, candidate in zip(names[1:], procedure.candidates, strict=True)
        }
        self._all = {name: list(spans) for name, spans in self._own.items()}
        if procedure.convention == "koala":
            groups = group_names(names)
            for number, name in enumerate(names[1:], 1):
                others = [o for n, o in enumerate(names[1:], 1) if groups[n] == groups[number]]
                self._all[name] = [span for other in others for span in self._own[other]]

    def find(self, location: str, step: int) -> TextSpan | None:
        """Find the mention in a step, else the nearest before it, else the nearest after it.

        Steps count from 0. A location that is no mentioned candidate is searched in the words.
        """
        if location in (ABSENT, UNKNOWN):
            return None
        if not self._all.get(location):
            self._all[location] = find_phrase(location, self._procedure.steps)
        spans, own = self._all[location], self._own.get(location, [])
        if not spans:
            return None
        return self.locate(
            min(spans, key=lambda span: (*_rank(span, step), span not in own, span.start))
        )

    def locate(self, span: Span) -> TextSpan | None:
        """Give the offsets in the text of some words of a step."""
        offsets = self._procedure.steps[span.step].locate_words(span.start, span.end)
        return None if offsets is None else TextSpan(*offsets)


def _rank(span: Span, step: int) -> tuple[bool, int]:
    return span.step > step, abs(span.step - step)


def _ground(row: Row, entity: Entity, finder: _Finder) -> Row:
    mentions = tuple(
        Mention(mention.step + 1, span)
        for mention in entity.mentions
        if (span := finder.locate(mention)) is not None
    )
    initial = finder.find(row.initial, 0)
    cells: list[Cell] = []
    span = initial
    for index, cell in enumerate(row.steps):
        # A location that does not change is grounded where it began.
        if cell.action != Action.NONE:
            span = finder.find(cell.after, index)
        cells.append(replace(cell, location_span=span))
    return replace(row, steps=tuple(cells), mentions=mentions, initial_span=initial)
