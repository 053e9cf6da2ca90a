"""Annotated procedures → a network's scores → grids and explanations."""
