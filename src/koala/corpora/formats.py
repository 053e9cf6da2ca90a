"""Read grids from files of any supported format: leaderboard, Recipes, koala's own formats."""

from enum import StrEnum
from pathlib import Path

from koala.corpora import jsonl, leaderboard, recipes, written
from koala.errors import FileError, KoalaError
from koala.files import parse_json, read_lines
from koala.grid import Grid

Sentences = dict[str, tuple[str, ...]]
"""The sentences of every procedure, by its id."""


class Format(StrEnum):
    """The file formats of grids."""

    LEADERBOARD = "leaderboard"
    RECIPES = "recipes"
    KOALA = "koala"
    WRITTEN = "written"


def detect_format(path: str | Path) -> Format:
    """Detect the format of a file by its first line; a folder is a part of koala's own corpus."""
    if Path(path).is_dir():
        return Format.WRITTEN
    _, line = read_lines(path)[0]
    if line.lstrip().startswith("# ["):
        return Format.WRITTEN
    if not line.lstrip().startswith(("{", "[")):
        return Format.LEADERBOARD
    try:
        value = parse_json(line)
    except KoalaError:
        return Format.KOALA  # JSON over several lines, or invalid: the reader of the format decides
    return Format.RECIPES if "participants" in value else Format.KOALA


_READERS = {
    Format.RECIPES: recipes.read_examples,
    Format.KOALA: jsonl.read_examples,
    Format.WRITTEN: written.read_examples,
}


def read_any_grids(
    path: str | Path, sentences: Sentences | None = None, *, is_scored: bool = False
) -> dict[str, Grid]:
    """Read grids by the id of their procedure.

    Entities with the same name stay separate, unless the grids are to be scored: the official
    evaluator takes the last row of a name.
    """
    format = detect_format(path)
    if format == Format.LEADERBOARD:
        read = leaderboard.read_predictions if is_scored else leaderboard.read_grids
        return read(path, sentences)
    if sentences is not None:
        raise KoalaError(
            f"{path} has its own sentences; leave out --sentences, which is for leaderboard files."
        )
    grids = {}
    for example in _READERS[format](path):
        if example.gold is None:
            problem = f"procedure {example.procedure.id!r} has no locations to score or show."
            raise FileError(path, problem)
        grids[example.procedure.id] = example.gold
    return grids
