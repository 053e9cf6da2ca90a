"""Attention to triples as heat maps: the case study of the paper (figure 8), in SVG or HTML.

Darker is more attention; every cell also has its weight as a number, and a tooltip.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from koala.display.markup import escape, join_lines
from koala.grid.attention import Attention, Weights

_LABEL = 300  # the width of the triples
_CELL = 62
_LINE = 22
_GAP = 26  # between the two maps of a panel, and around panels
_LETTERS = 46  # of a triple
_NAME = 9  # letters of a location
_DARK = 0.5
"""Weight from which the number in a cell is white."""

Panels = Mapping[str, Sequence[Attention]]
"""By the name of a model: its attention for each entity. All models have the same entities."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """A drawn panel: one entity as one model sees it."""

    lines: tuple[str, ...]
    width: int
    height: int


def render_attention_svg(panels: Panels) -> str:
    """Draw all panels in one SVG file: a row for each entity, a column for each model."""
    rows = _draw_all(panels)
    columns = list(zip(*rows, strict=True))
    widths = [max(panel.width for panel in column) + _GAP for column in columns]
    heights = [max(panel.height for panel in row) + _GAP for row in rows]
    parts = [
        f'<g transform="translate({sum(widths[:x])} {sum(heights[:y])})">'
        + join_lines(panel.lines)
        + "</g>"
        for y, row in enumerate(rows)
        for x, panel in enumerate(row)
    ]
    return _wrap(parts, sum(widths), sum(heights)) + "\n"


def render_attention_page(panels: Panels, *, title: str, steps: Sequence[str]) -> str:
    """Write a standalone page: the steps of the text, then the panels of each entity."""
    sections = []
    for row in _draw_all(panels):
        drawn = [_wrap(panel.lines, panel.width, panel.height) for panel in row]
        sections.append(f'<div class="models">{join_lines(drawn)}</div>')
    texts = "".join(f"<li>{escape(step)}</li>" for step in steps)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(title)}</title>
<style>
body {{ font: 15px sans-serif; margin: 2em; color: #222; background: #fff; }}
.models {{ display: flex; flex-wrap: wrap; gap: 2em; margin: 1em 0 2em; }}
</style>
</head>
<body>
<h1>{escape(title)}</h1>
<ol>{texts}</ol>
<p>Each column of a map adds up to 1; darker is more attention. The second map has the attention for
the location above the column; position 0 is before step 1.</p>
{join_lines(sections)}
</body>
</html>
"""


def _draw_all(panels: Panels) -> list[list[_Panel]]:
    """Draw the panels: for each entity, those of all models."""
    by_model = [[_draw(each, name) for each in found] for name, found in panels.items()]
    return [list(row) for row in zip(*by_model, strict=True)]


def _draw(attention: Attention, model: str) -> _Panel:
    actions = [cell.action.value.lower().replace("none", "") for cell in attention.row.steps]
    state_heads = [(str(number), action) for number, action in enumerate(actions, 1)]
    location_heads = [(str(number), name) for number, name in enumerate(attention.asked)]
    lines = [_text(0, 16, f"{attention.row.name} — {model}", "title")]
    top = 28
    for heading, heads, weights in (
        ("states", state_heads, attention.states),
        ("locations", location_heads, attention.locations),
    ):
        lines += _draw_map(heading, heads, attention.triples, weights, top)
        top += (len(attention.triples) + 2) * _LINE + _GAP
    return _Panel(tuple(lines), _LABEL + _CELL * len(location_heads), top - _GAP)


def _draw_map(
    heading: str,
    heads: Sequence[tuple[str, str]],
    triples: Sequence[str],
    weights: Weights,
    top: int,
) -> list[str]:
    lines = [_text(0, top + _LINE - 7, heading, "head")]
    for column, (number, word) in enumerate(heads):
        middle = _LABEL + _CELL * column + _CELL // 2
        lines.append(_text(middle, top + _LINE - 7, number, "middle"))
        lines.append(_text(middle, top + 2 * _LINE - 7, _cut(word, _NAME), "middle", word))
    first = top + 2 * _LINE
    for line, triple in enumerate(triples):
        lines.append(_text(0, first + line * _LINE + 15, _cut(triple, _LETTERS), "", triple))
        for column, own in enumerate(weights):
            if own:
                x, y = _LABEL + _CELL * column, first + line * _LINE
                lines += _draw_cell(x, y, own[line], triple)
    return lines


def _draw_cell(x: int, y: int, weight: float, triple: str) -> list[str]:
    kind = "light" if weight >= _DARK else "dark"
    return [
        f'<rect x="{x}" y="{y}" width="{_CELL - 2}" height="{_LINE - 2}" '
        f'fill-opacity="{weight:.3f}"><title>{escape(triple)}: {weight:.3f}</title></rect>',
        _text(x + _CELL // 2 - 1, y + 14, f"{weight:.2f}", f"{kind} middle"),
    ]


def _text(x: int, y: int, text: str, kind: str, tooltip: str = "") -> str:
    title = f"<title>{escape(tooltip)}</title>" if tooltip and tooltip != text else ""
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}{title}</text>'


def _cut(text: str, letters: int) -> str:
    if cell_len(text) <= letters:
        return text
    return set_cell_size(text, letters - 1).rstrip() + "…"


_STYLE = (
    "<style>text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}"
    ".head{font-style:italic}.middle{text-anchor:middle}.light{fill:#fff;font-size:10px}"
    ".dark{fill:#444;font-size:10px}rect{fill:#08468b;stroke:#c8d0d8}</style>"
)


def _wrap(lines: Sequence[str], width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">{_STYLE}\n{join_lines(lines)}\n</svg>'
    )
