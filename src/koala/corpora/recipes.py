"""Recipes: the annotated recipes of Neural Process Networks as grids, one JSON object per line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from koala.corpora.corpus import SPLITS, Corpus, Example
from koala.document import Entity, Procedure, Step
from koala.errors import FileError
from koala.files import read_jsonl
from koala.grid import Grid, Row


def is_here(folder: Path) -> bool:
    """Tell whether a folder holds Recipes."""
    return (folder / "train.jsonl").is_file()


def read(folder: str | Path) -> Corpus:
    """Read all splits in a folder."""
    paths = {split: Path(folder) / f"{split}.jsonl" for split in SPLITS}
    splits = {split: tuple(read_examples(path)) for split, path in paths.items() if path.is_file()}
    return Corpus("recipes", splits, is_tokenized=True)


def read_examples(path: str | Path) -> list[Example]:
    """Read recipes; those with locations have a gold grid."""
    examples: dict[str, Example] = {}
    for number, value in read_jsonl(path):
        example = _read_example(value, path, number)
        if example.procedure.id in examples:
            problem = f"recipe {example.procedure.id!r} occurs twice."
            raise FileError(path, problem, line=number)
        examples[example.procedure.id] = example
    return list(examples.values())


def _read_example(value: dict[str, Any], path: str | Path, line: int) -> Example:
    # The recipes of train have no "para_id"; their names are unique.
    id = value.get("para_id") if value.get("para_id") is not None else value.get("name")
    if not isinstance(id, (str, int)) or isinstance(id, bool) or id == "":
        raise FileError(path, 'a recipe needs "para_id" or "name".', line=line)
    names = _strings(value, "participants", path, line)
    locations = value.get("locations")
    if "sentences" in value:
        texts = _strings(value, "sentences", path, line)
    elif isinstance(locations, list) and locations and isinstance(locations[0], list):
        texts = [""] * (len(locations[0]) - 1)  # predictions need not repeat the text
    else:
        raise FileError(path, '"sentences" is missing.', line=line)
    if not texts:
        raise FileError(path, f"recipe {id!r} has no steps.", line=line)
    steps = tuple(Step(text) for text in texts)
    entities = tuple(Entity(name) for name in names)
    procedure = Procedure(str(id), steps, entities, convention="recipes")
    if locations is None:
        return Example(procedure)
    _check_table(locations, "locations", len(names), len(texts) + 1, path, line)
    rows = (Row.from_locations(n, row) for n, row in zip(names, locations, strict=True))
    gold = Grid(str(id), tuple(texts), tuple(rows))
    exist = value.get("exist")
    if exist is None:
        return Example(procedure, gold)
    _check_table(exist, "exist", len(names), len(texts), path, line)
    participation = tuple(tuple(cell == "E" for cell in row) for row in exist)
    return Example(procedure, gold, participation)


def write_grids(grids: Iterable[Grid], *, has_text: bool = False) -> str:
    """Give grids as JSON lines in the format of Recipes; predictions need not repeat the text."""
    lines = []
    for grid in grids:
        value: dict[str, Any] = {"para_id": grid.id}
        if has_text:
            value["sentences"] = list(grid.steps)
        value["participants"] = list(grid.names)
        value["locations"] = [list(row.locations) for row in grid.rows]
        lines.append(json.dumps(value, ensure_ascii=False) + "\n")
    return "".join(lines)


def _strings(value: dict[str, Any], key: str, path: str | Path, line: int) -> list[str]:
    if key not in value:
        raise FileError(path, f'"{key}" is missing.', line=line)
    strings = value[key]
    if not isinstance(strings, list) or not all(isinstance(item, str) for item in strings):
        raise FileError(path, f'"{key}" must be a list of strings.', line=line)
    return strings


def _check_table(
    table: object, key: str, n_rows: int, n_cells: int, path: str | Path, line: int
) -> None:
    """Raise an error for a table without one row per entity and the right number of cells."""
    if not isinstance(table, list) or len(table) != n_rows:
        got = len(table) if isinstance(table, list) else repr(table)
        raise FileError(path, f'"{key}": expected {n_rows} rows, got {got}.', line=line)
    for row in table:
        if not isinstance(row, list) or not all(isinstance(cell, str) and cell for cell in row):
            raise FileError(path, f'"{key}" must hold lists of strings.', line=line)
        if len(row) != n_cells:
            problem = f'"{key}": expected {n_cells} cells in a row, got {len(row)}.'
            raise FileError(path, problem, line=line)
