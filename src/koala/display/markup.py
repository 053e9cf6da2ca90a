"""Pieces of HTML: a user's text made safe, lines put together."""

import html
from collections.abc import Iterable

from koala.display.marks import clean


def escape(text: str) -> str:
    """Make a user's text safe to stand in HTML, also in an attribute."""
    return html.escape(clean(text))


def join_lines(parts: Iterable[str]) -> str:
    """Put parts on lines of their own; empty ones are left out."""
    return "\n".join(part for part in parts if part)
