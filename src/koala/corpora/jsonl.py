"""koala's JSON lines: procedures as text or steps, with entities and optional gold grids."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from koala.corpora.corpus import Example
from koala.document import Entity, Procedure, build_entity
from koala.document.build import place_steps
from koala.errors import FileError, KoalaError
from koala.files import parse_json, read_jsonl, read_text
from koala.grid import Grid


def read_examples(path: str | Path) -> list[Example]:
    """Read one procedure per line.

    A line is `{"id", "text" | "steps", "entities"?}`. Entities are names, or rows as in the output
    of `koala track --format json`; rows make up the gold grid. A line with a signature and without
    entities is an empty grid: a model found no entities in that text.
    """
    examples: dict[str, Example] = {}
    for number, value in _read_objects(path):
        try:
            example = read_example(value, number)
            if example.procedure.id in examples:
                raise KoalaError(f"Procedure {example.procedure.id!r} occurs twice.")
        except KoalaError as error:
            raise FileError(path, str(error), line=number) from None
        examples[example.procedure.id] = example
    return list(examples.values())


def _read_objects(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give every object with its line; one JSON object or list over several lines also works."""
    text = read_text(path)
    try:
        value = parse_json(text)
    except KoalaError:
        yield from read_jsonl(path)
        return
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict):
            raise FileError(path, "expected a JSON object or a list of objects.")
        yield 1, each


def write_examples(examples: Iterable[Example]) -> str:
    """Give examples as JSON lines, as `read_examples` reads them."""
    return "".join(_write_example(example) + "\n" for example in examples)


def _write_example(example: Example) -> str:
    procedure = example.procedure
    value: dict[str, Any]
    if example.gold is not None:
        value = example.gold.to_dict()
    else:
        names = [entity.name for entity in procedure.entities]
        steps = [step.text for step in procedure.steps]
        value = {"id": procedure.id, "steps": steps, "entities": names}
    if procedure.question:
        value["question"] = procedure.question
    return json.dumps(value, ensure_ascii=False)


def read_example(value: dict[str, Any], number: int) -> Example:
    """Read one object; `number` is its id if it has none. Null counts as missing."""
    value = {key: field for key, field in value.items() if field is not None}
    id = value.get("id", number)
    if not isinstance(id, (str, int)) or isinstance(id, bool) or id == "":
        raise KoalaError(f'"id" must be a string or a whole number, got {id!r}.')
    id = str(id)
    # Earlier versions wrote "prompt".
    key = "question" if "question" in value else "prompt"
    question = value.get(key, "")
    if not isinstance(question, str):
        raise KoalaError(f'"{key}" must be a string.')
    entities = value.get("entities", [])
    if not isinstance(entities, list):
        raise KoalaError('"entities" must be a list of names or objects.')
    if "steps" in value:
        steps = value["steps"]
        if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
            raise KoalaError('"steps" must be a list of strings.')
        if not steps:
            raise KoalaError('"steps" is empty.')
        parts = place_steps(steps)
    elif isinstance(value.get("text"), str):
        parts = Procedure.from_text(value["text"]).steps
    else:
        raise KoalaError('"text" (a string) or "steps" (a list of strings) is missing.')
    is_grid = bool(entities) or "signature" in value
    if is_grid and all(isinstance(entity, dict) for entity in entities):
        gold = Grid.from_dict({**value, "id": id, "steps": [part.text for part in parts]})
        named = tuple(Entity(name) for name in gold.names)
        return Example(Procedure(id, parts, named, question), gold)
    if "steps" in value and "text" in value:
        raise KoalaError('Give "text" (a string) or "steps" (a list of strings), not both.')
    if not all(part.text.strip() for part in parts):
        raise KoalaError('One of "steps" is empty.')
    if not all(isinstance(entity, str) for entity in entities):
        raise KoalaError('"entities" must be all names or all objects with "name" and "steps".')
    return Example(Procedure(id, parts, tuple(map(build_entity, entities)), question))
