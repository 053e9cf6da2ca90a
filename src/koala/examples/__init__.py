"""Procedures written for koala, with hand-made grids."""

from importlib import resources

from koala.grid import Grid


def read_example(name: str = "coffee") -> Grid:
    """Read a bundled grid."""
    return Grid.from_json(resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
