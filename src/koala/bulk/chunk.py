"""A chunk of records → lines to write; the same chunk gives the same bytes on every engine."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from koala.bulk.records import Limits, Record, Task, build_task, open_record, report_bad
from koala.discovery.add import add_missing_entities
from koala.errors import FileError, KoalaError
from koala.grid import Grid
from koala.registry import AUTO, Trackers
from koala.text.nlp import analyze
from koala.tracker import Tracker

_DIGITS = 4
"""Decimals of a confidence. Batching changes only later digits."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Output of a chunk: grids in the order of the records, and reports of the bad records."""

    grids: str
    bad: str
    n_grids: int
    n_bad: int


def track_records(trackers: Trackers, records: Sequence[Record], limits: Limits) -> Lines:
    """Track the entities of a chunk; records that cannot be tracked are reported instead."""
    tasks, problems = _read(records, limits)
    position = {id(record): number for number, record in enumerate(records)}
    grids: dict[int, str] = {}
    task_of = {id(record): task for record, task in tasks}
    for tracker, group in _group_by_tracker(trackers, tasks):
        for record, outcome in _track(tracker, group):
            if isinstance(outcome, Grid):
                task = task_of[id(record)]
                grids[position[id(record)]] = _write(outcome, task.rest, _warn(tracker, task))
            else:
                problems[position[id(record)]] = outcome
    bad = [report_bad(records[number], problems[number]) for number in sorted(problems)]
    return Lines("".join(grids[n] for n in sorted(grids)), "".join(bad), len(grids), len(bad))


def _read(
    records: Sequence[Record], limits: Limits
) -> tuple[list[tuple[Record, Task]], dict[int, str]]:
    """Give the records that can be read as tasks, and the problems of the others by index."""
    opened: dict[int, dict[str, Any]] = {}
    tasks: list[tuple[Record, Task]] = []
    problems: dict[int, str] = {}
    for number, record in enumerate(records):
        try:
            opened[number] = open_record(record, limits)
        except KoalaError as error:
            problems[number] = str(error)
    # Analyze all paragraphs at once: build_task then finds their sentences in the cache.
    texts = (value.get("text") for value in opened.values() if value.get("steps") is None)
    analyze(text.strip() for text in texts if isinstance(text, str) and "\n" not in text.strip())
    for number, value in opened.items():
        try:
            tasks.append((records[number], build_task(value, records[number].number, limits)))
        except KoalaError as error:
            problems[number] = str(error)
    return tasks, problems


def _group_by_tracker(
    trackers: Trackers, tasks: Sequence[tuple[Record, Task]]
) -> Iterable[tuple[Tracker, list[tuple[Record, Task]]]]:
    """Group tasks by the tracker that fits their text."""
    groups: dict[int, tuple[Tracker, list[tuple[Record, Task]]]] = {}
    for record, task in tasks:
        tracker = trackers.choose(AUTO, task.content)
        groups.setdefault(id(tracker), (tracker, []))[1].append((record, task))
    return groups.values()


def _track(
    tracker: Tracker, tasks: Sequence[tuple[Record, Task]]
) -> list[tuple[Record, Grid | str]]:
    """Track all tasks at once; if that fails, one by one, to find the one that fails."""
    try:
        procedures = [task.procedure for _, task in tasks]
        grids = tracker.track_all(add_missing_entities(procedures, n_threads=tracker.n_threads))
        return [(record, grid) for (record, _), grid in zip(tasks, grids, strict=True)]
    except FileError:
        # A file of koala is missing, which is no fault of a record.
        raise
    except KoalaError as error:
        if len(tasks) == 1:
            return [(tasks[0][0], str(error))]
        return [pair for task in tasks for pair in _track(tracker, [task])]


def _warn(tracker: Tracker, task: Task) -> list[str]:
    steps = [step.text for step in task.procedure.steps]
    names = [entity.name for entity in task.procedure.entities]
    return tracker.find_warnings(steps, names)


def _write(grid: Grid, rest: dict[str, Any], warnings: Sequence[str]) -> str:
    value = {**rest, **grid.to_dict()}
    if warnings:
        value["warnings"] = warnings
    for entity in value["entities"]:
        for step in entity["steps"]:
            step["confidence"] = round(step["confidence"], _DIGITS)
    return json.dumps(value, ensure_ascii=False) + "\n"
