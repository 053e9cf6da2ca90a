"""Reasons as HTML: a paragraph for each change, and heat maps of the attention to triples.

The shade of a cell is never the only signal: each cell also has a number.
"""

from bisect import bisect_right
from collections.abc import Sequence

from koala.display.changes import Change, describe_evidence, find_changes
from koala.display.marks import SYMBOLS, name_of
from koala.display.markup import escape, escape_part, join_lines
from koala.grid.explanation import Explanation, Reason

_LEVELS = (0.05, 0.1, 0.2, 0.4)
"""Shares of attention at which the next shade begins; ten triples have a tenth on average."""


def render_reasons(explanation: Explanation, key: str) -> str:
    """Render the reasons that follow a grid; ids start with `key`."""
    heat = _render_heat(explanation, key)
    parts = [
        "<h3>Why</h3>",
        render_changes(explanation),
        f"<h3>What was read</h3>\n{heat}" if heat else '<p class="quiet">No triples were read.</p>',
    ]
    return join_lines(parts)


def render_changes(explanation: Explanation) -> str:
    """Render the reasons of all changes as a list."""
    changes = [_render_change(change) for change in find_changes(explanation)]
    if not changes:
        return "<p>Nothing changes.</p>"
    return join_lines(['<ul class="reasons">', *changes, "</ul>"])


def _render_change(change: Change) -> str:
    known = describe_evidence(change)
    parts = [
        f'<li><span class="key {change.kind}" aria-hidden="true">{SYMBOLS[change.kind]}</span>',
        f"<strong>Step {change.step}, {escape(change.name)}:</strong> {escape(change.summary)}.",
        f"<q>{_mark(change.sentence, change.mentions)}</q>",
        f'<span class="quiet">Most attended: {escape(known)}.</span>' if known else "",
        "</li>",
    ]
    return join_lines(parts)


def _mark(sentence: str, mentions: Sequence[tuple[int, int]]) -> str:
    """Mark the mentions of the entity in a sentence."""
    parts = []
    end = 0
    for first, last in mentions:
        # Of two mentions that overlap, the first is marked.
        if first >= end:
            parts += [sentence[end:first], sentence[first:last]]
            end = last
    escaped = [escape_part(part) for part in [*parts, sentence[end:]]]
    return "".join(f"<mark>{p}</mark>" if i % 2 else p for i, p in enumerate(escaped))


def _render_heat(explanation: Explanation, key: str) -> str:
    """Render a table for every entity with triples."""
    parts = []
    for number, (row, reasons) in enumerate(
        zip(explanation.grid.rows, explanation.reasons, strict=True), 1
    ):
        if any(reason.evidence for reason in reasons):
            parts.append(_render_table(name_of(row), reasons, f"{key}-heat-{number}"))
    return join_lines(parts)


def _render_table(name: str, reasons: Sequence[Reason], id: str) -> str:
    numbers = [
        f'<th scope="col"><span class="hidden">Step </span>{number}</th>'
        for number in range(1, len(reasons) + 1)
    ]
    rows = [
        join_lines(
            [f'<tr><th scope="row">{escape(sentence)}</th>', *map(_render_cell, shares), "</tr>"]
        )
        for sentence, shares in collect_shares(reasons)
    ]
    parts = [
        f'<div class="scroll" role="region" aria-labelledby="{id}" tabindex="0">',
        '<table class="heat">',
        f'<caption id="{id}">What was read for {escape(name)}, percent of the attention</caption>',
        '<thead><tr><th scope="col">Triple</th>',
        *numbers,
        "</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody>",
        "</table></div>",
    ]
    return join_lines(parts)


def collect_shares(reasons: Sequence[Reason]) -> list[tuple[str, list[float | None]]]:
    """Give each triple in English with its share of attention by step, most attended first."""
    shares: dict[str, list[float | None]] = {}
    for step, reason in enumerate(reasons):
        for each in reason.evidence:
            row = shares.setdefault(each.sentence, [None] * len(reasons))
            # Two triples may be the same in English.
            row[step] = (row[step] or 0.0) + each.weight
    return sorted(shares.items(), key=lambda item: -sum(share or 0.0 for share in item[1]))


def _render_cell(share: float | None) -> str:
    if share is None:
        return "<td></td>"
    return f'<td class="heat-{bisect_right(_LEVELS, share)}">{100 * share:.0f}</td>'
