"""Example procedures from different fields, written for koala, with hand-made grids."""

from importlib import resources

from koala.grid import Grid


def list_examples() -> tuple[str, ...]:
    """List the names of the bundled grids.

    >>> list_examples()
    ('cave', 'coffee', 'dna', 'pancakes', 'soup')
    """
    names = (path.name for path in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in names if name.endswith(".json")))


def read_example(name: str = "coffee") -> Grid:
    """Read a bundled grid by its name."""
    return Grid.from_json(resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
