"""Check requests, track them and give the response as JSON; tracking runs in the worker thread."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from koala.errors import FileError, KoalaError
from koala.grid.states import Action
from koala.registry import Trackers
from koala.text.steps import split_steps
from koala.web.errors import RequestError
from koala.web.limits import Limits
from koala.web.schemas import Document, FixValue
from koala.web.worker import IsWanted


class UnwantedError(Exception):
    """The client no longer waits for the response."""


def check_documents(
    documents: Sequence[Document], limits: Limits, choices: Sequence[str], *, in_list: bool
) -> None:
    """Refuse documents beyond the limits, or for unknown models, before any text is processed."""
    _check(len(documents), limits.documents, "documents", "procedures", None)
    for number, document in enumerate(documents):
        prefix = f"{number}." if in_list else ""
        field = f"{prefix}text" if document.text is not None else f"{prefix}steps"
        content = document.content
        if not isinstance(content, str):
            _check(len(content), limits.steps, "steps", "steps", field)
            for index, step in enumerate(content):
                _check_step(step, limits, f"{field}.{index}")
        _check_step(document.question, limits, f"{prefix}question")
        length = len(content) if isinstance(content, str) else sum(map(len, content))
        _check(length, limits.characters, "characters", "characters", field)
        entities = document.entities or ()
        _check(len(entities), limits.entities, "entities", "entities", f"{prefix}entities")
        fixed = document.fixed or ()
        _check(len(fixed), limits.fixes, "fixes", "fixed cells", f"{prefix}fixed")
        for where, name in _list_names(document, prefix):
            _check(len(name), limits.name_characters, "name", "characters in a name", where)
        if document.model not in choices:
            message = f"Model {document.model!r} is not served. Served: {', '.join(choices)}."
            raise RequestError(422, "unknown_model", message, field=f"{prefix}model")


def _list_names(document: Document, prefix: str) -> Iterator[tuple[str, str]]:
    """Give every short text of a document with the path of its field."""
    yield f"{prefix}id", document.id or ""
    yield f"{prefix}model", document.model
    for index, name in enumerate(document.entities or ()):
        yield f"{prefix}entities.{index}", name
    for index, fix in enumerate(document.fixed or ()):
        yield f"{prefix}fixed.{index}.entity", fix.entity
        yield f"{prefix}fixed.{index}.location", fix.location or ""


def _check(number: int, most: int, code: str, what: str, field: str | None) -> None:
    if number > most:
        message = f"Too many {what}: {number:,}; the limit is {most:,}."
        raise RequestError(422, f"too_many_{code}", message, field=field)


def _check_step(step: str, limits: Limits, field: str) -> None:
    _check(len(step), limits.step_characters, "characters", "characters in a step", field)


def track_documents(
    trackers: Trackers,
    documents: Sequence[Document],
    limits: Limits,
    is_wanted: IsWanted,
    *,
    in_list: bool,
) -> bytes:
    """Track documents one after the other and give the response body."""
    answers = []
    for number, document in enumerate(documents):
        if not is_wanted():
            raise UnwantedError
        prefix = f"{number}." if in_list else ""
        try:
            if document.text is not None:
                _check_text(document.text, limits, f"{prefix}text")
            answers.append(_track(trackers, document, id=str(number + 1)))
        except FileError:
            # An internal error: the message would reveal paths of the server.
            raise
        except KoalaError as error:
            raise RequestError(422, "not_tracked", str(error), field=prefix.rstrip(".")) from None
    return json.dumps(answers if in_list else answers[0], ensure_ascii=False).encode()


def _check_text(text: str, limits: Limits, field: str) -> None:
    steps = split_steps(text)
    _check(len(steps), limits.steps, "steps", "steps", field)
    for step in steps:
        _check_step(step.text, limits, field)


def read_fixes(
    values: Sequence[FixValue],
) -> dict[tuple[str, int], str | Action | tuple[Action, str]]:
    """Give fixed cells in the form that trackers take."""
    fixed: dict[tuple[str, int], str | Action | tuple[Action, str]] = {}
    for value in values:
        key = (value.entity, value.step)
        if key in fixed:
            name = f"{value.entity}@{value.step}"
            raise KoalaError(f"The cell {name} is fixed twice; fix each cell once.")
        if value.action is None:
            fixed[key] = value.location or ""
        elif value.location is None:
            fixed[key] = Action(value.action)
        else:
            fixed[key] = (Action(value.action), value.location)
    return fixed


def _track(trackers: Trackers, document: Document, *, id: str) -> dict[str, Any]:
    tracker = trackers.choose(document.model, document.content)
    run = tracker.explain if document.explain else tracker.track
    # An empty list counts as missing: the entities are found.
    entities = document.entities or None
    grid = run(
        document.content,
        entities,
        find=document.find,
        id=document.id or id,
        question=document.question,
        fixed=read_fixes(document.fixed or ()),
    )
    value = grid.to_dict()
    if warnings := tracker.find_warnings(document.content, document.entities):
        value["warnings"] = warnings
    return {**(document.model_extra or {}), **value}
