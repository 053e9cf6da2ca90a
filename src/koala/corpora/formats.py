"""Grids from whatever file they are in: leaderboard TSV, Recipes JSON lines, koala's own."""

import json
from enum import StrEnum
from pathlib import Path

from koala.corpora import jsonl, leaderboard, recipes
from koala.errors import FileError
from koala.files import read_lines, read_text
from koala.grid import Grid


class Format(StrEnum):
    """The kinds of files that hold grids."""

    LEADERBOARD = "leaderboard"
    RECIPES = "recipes"
    KOALA = "koala"


def detect_format(path: str | Path) -> Format:
    """Tell by its first line what a file is."""
    _, line = read_lines(path)[0]
    if not line.lstrip().startswith("{"):
        return Format.LEADERBOARD
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return Format.KOALA  # one object over several lines, or broken: its reader will tell
    return Format.RECIPES if "participants" in value else Format.KOALA


def read_grids(
    path: str | Path, sentences: dict[str, tuple[str, ...]] | None = None
) -> dict[str, Grid]:
    """Read grids by procedure."""
    match detect_format(path):
        case Format.LEADERBOARD:
            return leaderboard.read_predictions(path, sentences)
        case Format.RECIPES:
            examples = recipes.read_examples(path)
        case Format.KOALA:
            text = read_text(path)
            if "\n" in text.strip() and text.lstrip().startswith("{\n"):
                grid = Grid.from_json(text)
                return {grid.id: grid}
            examples = jsonl.read_examples(path)
    grids = {e.procedure.id: e.gold for e in examples}
    missing = next((id for id, grid in grids.items() if grid is None), None)
    if missing is not None:
        raise FileError(path, f"procedure {missing!r} has no locations: nothing to score or show.")
    return {id: grid for id, grid in grids.items() if grid is not None}
