"""Grids: what happens to every entity at every step; state tags; explanations."""

from koala.grid.grid import COLUMNS, EMPTY, Cell, Grid, Row

__all__ = ["COLUMNS", "EMPTY", "Cell", "Grid", "Row"]
