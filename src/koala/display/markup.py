"""Helpers for HTML: escape user text, join lines."""

import html
from collections.abc import Iterable

from koala.display.marks import clean


def escape(text: str) -> str:
    """Make user text safe for HTML, also in attributes."""
    return html.escape(clean(text))


def escape_part(text: str) -> str:
    """Escape a part of a sentence; keep the white space at its ends.

    >>> escape_part(" R&D "), escape_part(" \\n")
    (' R&amp;D ', ' ')
    """
    if text.isspace():
        return " "
    before, after = (" " if end.isspace() else "" for end in (text[:1], text[-1:]))
    return f"{before}{escape(text)}{after}"


def join_lines(parts: Iterable[str]) -> str:
    """Join parts with line breaks, without the empty ones."""
    return "\n".join(part for part in parts if part)
