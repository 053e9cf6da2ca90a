"""Words of the steps that belong to cells: pointing at a cell marks them, without any script.

Words and cells of the same group share a CSS class: `-e2` are the mentions of the second entity,
`-e2-5` those in step 5, `-l3` the third phrase that names a location.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from koala.display.markup import escape_part
from koala.grid import Grid, TextSpan


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one grid; class names start with `key`. An ungrounded grid has none."""

    grid: Grid
    key: str
    phrases: dict[TextSpan, str] = field(default_factory=dict)
    """The class of each phrase that names a location."""

    def of_entity(self, row: int) -> str:
        """Give the class of all mentions of an entity, or an empty string without mentions."""
        return f"{self.key}-e{row + 1}" if self.grid.rows[row].mentions else ""

    def of_cell(self, row: int, index: int) -> list[str]:
        """Give the classes of a cell; index -1 is the cell before step 1."""
        found = [self.of_location(self.grid.rows[row].location_spans[index + 1])]
        if any(mention.step == index + 1 for mention in self.grid.rows[row].mentions):
            found.append(f"{self.key}-e{row + 1}-{index + 1}")
        return [name for name in found if name]

    def of_location(self, span: TextSpan | None) -> str:
        """Give the class of the phrase that names a location, or an empty string."""
        return self.phrases.get(span, "") if span is not None else ""

    def render_step(self, index: int) -> str:
        """Render the text of a step as HTML; words of groups are marked when these are pointed at.

        The class of a phrase that names a location is also an id in front of it.
        """
        text = self.grid.steps[index]
        marks = list(self._find_marks(index))
        cuts = sorted({0, len(text), *(cut for start, end, _ in marks for cut in (start, end))})
        parts = []
        for first, last in itertools.pairwise(cuts):
            part = escape_part(text[first:last])
            around = [mark for mark in marks if mark[0] <= first and last <= mark[1]]
            parts.append(self._render_words(part, around, first) if around else part)
        return "".join(parts)

    def _render_words(self, part: str, marks: list[tuple[int, int, str]], first: int) -> str:
        """Render words that belong to groups, and before them the ids of the phrases that begin."""
        names = dict.fromkeys(name for _, _, name in marks)
        begun = {name for start, _, name in marks if start == first}
        ids = [name for name in names if name in begun and name in self.phrases.values()]
        anchors = "".join(f'<span id="{name}"></span>' for name in ids)
        return f'{anchors}<span class="words {" ".join(names)}">{part}</span>'

    def render_css(self) -> str:
        """Render the rules that mark the words of a group while one of its cells is pointed at."""
        entities = [
            f"{self.key}-e{number}{step}"
            for number, row in enumerate(self.grid.rows, 1)
            if row.mentions
            for step in ("", *(f"-{n}" for n in dict.fromkeys(m.step for m in row.mentions)))
        ]
        return self._rule(entities, "named") + self._rule(list(self.phrases.values()), "placed")

    def _rule(self, names: list[str], look: str) -> str:
        if not names:
            return ""
        selectors = ",\n".join(
            f"#{self.key}:has(:is(td, th).{name}:is(:hover, :focus-within)) .words.{name}"
            for name in names
        )
        return f"{selectors} {{ {_LOOKS[look]} }}\n"

    def _find_marks(self, index: int) -> Iterator[tuple[int, int, str]]:
        """Give start, end and class of all words of a step that belong to a group."""
        if self.grid.step_spans is None:
            return
        step = self.grid.step_spans[index]
        if step.end - step.start != len(self.grid.steps[index]):
            # The user wrote the step with other white space, so offsets do not fit its text.
            return
        for number, row in enumerate(self.grid.rows, 1):
            for mention in row.mentions:
                if mention.step == index + 1 and _holds(step, mention.span):
                    start, end = (at - step.start for at in (mention.span.start, mention.span.end))
                    yield start, end, f"{self.key}-e{number}"
                    yield start, end, f"{self.key}-e{number}-{mention.step}"
        for span, name in self.phrases.items():
            if _holds(step, span):
                yield span.start - step.start, span.end - step.start, name


_LOOKS = {
    "named": "background: var(--move-fill); color: var(--move-ink); border-radius: .2rem;",
    "placed": "text-decoration: underline 2px; text-underline-offset: 3px; font-weight: 600;",
}
"""Mentions of an entity have a background, the phrase that names its location is underlined."""


def build_groups(grid: Grid, key: str) -> Groups:
    """Find the groups of a grid."""
    spans = {span for row in grid.rows for span in row.location_spans if span is not None}
    placed = {span for span in spans if any(_holds(step, span) for step in grid.step_spans or ())}
    ordered = sorted(placed, key=lambda span: (span.start, span.end))
    return Groups(grid, key, {span: f"{key}-l{n}" for n, span in enumerate(ordered, 1)})


def _holds(step: TextSpan, span: TextSpan) -> bool:
    return step.start <= span.start < span.end <= step.end
