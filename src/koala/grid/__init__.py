"""Grids: what happens to every entity at every step; state tags; explanations."""

from koala.grid.grid import COLUMNS, Grid
from koala.grid.rows import EMPTY, Cell, Row
from koala.grid.spans import Mention, TextSpan

__all__ = ["COLUMNS", "EMPTY", "Cell", "Grid", "Mention", "Row", "TextSpan"]
