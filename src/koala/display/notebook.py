"""Grids in notebooks: a piece of HTML with its own styles, which touch nothing else on the page."""

import hashlib
from importlib.resources import files

from koala.display.grounding import build_groups
from koala.display.marks import Shown, grid_of, title_of
from koala.display.markup import escape, join_lines
from koala.display.page import render_grid, render_legend, render_sentences
from koala.display.reasons import render_changes
from koala.grid.explanation import Explanation


def render_notebook(shown: Shown) -> str:
    """Render a grid, and its reasons if there are any, for the output of a notebook cell.

    Ids contain a hash of the content, because a notebook shows many grids on one page.
    """
    grid = grid_of(shown)
    key = f"koala-{hashlib.sha256(shown.to_json().encode(errors='replace')).hexdigest()[:12]}"
    groups = build_groups(grid, key)
    css = files("koala.display").joinpath("notebook.css").read_text(encoding="utf-8")
    parts = [
        f'<div class="koala-grid" id="{key}">',
        f"<style>\n{css}{groups.render_css()}</style>",
        f'<p id="{key}-title"><strong>{escape(title_of(grid))}</strong></p>',
        render_grid(groups) if grid.rows else "<p>No entities.</p>",
        render_legend([grid]) if grid.rows else "",
        render_sentences(groups) if grid.steps else "",
        render_changes(shown) if isinstance(shown, Explanation) else "",
        f'<p class="signature">{escape(grid.signature)}</p>' if grid.signature else "",
        "</div>",
    ]
    return join_lines(parts)
