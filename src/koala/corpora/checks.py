"""Check procedures of koala's own corpus for errors, near-duplicates and balance."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from koala.corpora import written
from koala.corpora.corpus import SPLITS
from koala.corpora.similarity import find_pairs
from koala.corpora.written import WrittenProcedure
from koala.document import Procedure
from koala.errors import FileError
from koala.grid import Row
from koala.grid.states import ABSENT, UNKNOWN, Action

_WORD = re.compile(r"[^\W_]+")
_FEWEST_STEPS, _MOST_STEPS = 2, 20
_SHORTEST = 4
"""Length of the shortest word that may be a plural, in letters."""

DUPLICATE_COSINE = 0.62
"""Cosine from which two texts of the corpus count as near-duplicates."""
SIMILAR_COSINE = 0.35
"""Cosine from which a text is too similar to one of a corpus that must stay unseen."""


@dataclass(frozen=True, slots=True)
class Defect:
    """A problem and where it is."""

    path: Path
    line: int
    title: str
    """Title of the procedure, or empty for a file that cannot be read."""
    problem: str

    def __str__(self) -> str:
        title = f" {self.title}:" if self.title else ""
        return f"{self.path}:{self.line}:{title} {self.problem}"


@dataclass(frozen=True, slots=True)
class Shares:
    """Counts of cells and changes in procedures."""

    procedures: int
    entities: int
    steps: int
    actions: Counter[Action]
    """Actions of all entities at all steps."""
    cells: Counter[str]
    """Locations after the steps, by kind: `-`, `?` or `location`."""
    starts: Counter[str]
    """Locations before step 1, by kind."""
    changes_unnamed: int
    """Changes in steps that do not name the entity."""
    entities_unchanged: int
    """Entities that never change."""

    def to_dict(self) -> dict[str, float | int | dict[str, float]]:
        """Give plain values, with counts as shares."""
        n_changes = self.actions.total() - self.actions[Action.NONE]
        return {
            "procedures": self.procedures,
            "entities_per_procedure": round(self.entities / max(self.procedures, 1), 2),
            "steps_per_procedure": round(self.steps / max(self.procedures, 1), 2),
            "actions": _to_shares({action.value: n for action, n in self.actions.items()}),
            "cells": _to_shares(self.cells),
            "before_step_1": _to_shares(self.starts),
            "changes_in_steps_that_do_not_name_the_entity": round(
                self.changes_unnamed / max(n_changes, 1), 3
            ),
            "entities_that_never_change": round(self.entities_unchanged / max(self.entities, 1), 3),
        }


def _to_shares(counts: dict[str, int]) -> dict[str, float]:
    total = sum(counts.values()) or 1
    return {name: round(count / total, 3) for name, count in sorted(counts.items())}


def find_files(paths: Sequence[Path]) -> list[Path]:
    """List the files to check: the given files, *.txt in folders, all splits of a whole corpus."""
    files: list[Path] = []
    for path in paths:
        folders = [path / split for split in SPLITS] if written.is_here(path) else [path]
        found = [each for folder in folders for each in sorted(folder.glob("*.txt"))]
        if not path.is_dir():
            found = [path]
        if not found:
            raise FileError(path, "this folder has no *.txt files; expected files of procedures.")
        files += found
    return files


def read_checked(files: Sequence[Path]) -> tuple[list[tuple[Path, WrittenProcedure]], list[Defect]]:
    """Read files; a file in the wrong format gives a defect, and the other files are still read."""
    read: list[tuple[Path, WrittenProcedure]] = []
    defects = []
    for path in files:
        try:
            read += [(path, each) for each in written.read_file(path)]
        except FileError as error:
            defects.append(Defect(path, error.line or 1, "", str(error)))
    return read, defects


def find_defects(
    read: Sequence[tuple[Path, WrittenProcedure]], unseen: Sequence[Procedure] = ()
) -> list[Defect]:
    """Check every procedure, find near-duplicates, and compare all with unseen texts."""

    def build_defect(number: int, problem: str) -> Defect:
        path, each = read[number]
        return Defect(path, each.line, each.example.procedure.question, problem)

    defects = [
        build_defect(number, problem)
        for number, (_, each) in enumerate(read)
        for problem in find_problems(each)
    ]
    procedures = [each.example.procedure for _, each in read]
    titles: dict[str, int] = {}
    for number, procedure in enumerate(procedures):
        first = titles.setdefault(_normalize(procedure.question), number)
        if first != number:
            defects.append(build_defect(number, f"{read[first][0]} has the same title."))
    for pair in find_pairs(procedures, least=DUPLICATE_COSINE):
        twin = procedures[pair.second].question
        problem = f"near-duplicate of {twin!r} (cosine {pair.cosine:.2f})."
        defects.append(build_defect(pair.first, problem))
    for pair in find_pairs(procedures, unseen, least=SIMILAR_COSINE) if unseen else ():
        other = unseen[pair.second]
        problem = f"too similar to {other.id}, {other.question!r} (cosine {pair.cosine:.2f})."
        defects.append(build_defect(pair.first, problem))
    return defects


def find_problems(each: WrittenProcedure) -> Iterator[str]:
    """Find impossible cells, and names and locations that are not in the text."""
    procedure, gold = each.example.procedure, each.example.gold
    if gold is None:
        yield "has no grid."
        return
    if not _FEWEST_STEPS <= len(procedure.steps) <= _MOST_STEPS:
        yield f"{len(procedure.steps)} steps; expected {_FEWEST_STEPS} to {_MOST_STEPS}."
    text = f" {' '.join(_normalize(step.text) for step in procedure.steps)} "
    rows = {_normalize(alias): row for row in gold.rows for alias in row.aliases}
    if len({_normalize(row.name) for row in gold.rows}) < len(gold.rows):
        yield "an entity has two lines."
    for row in gold.rows:
        for alias in row.aliases:
            if f" {_normalize(alias)} " not in text:
                yield f"{row.name}: the text never names {alias!r}."
        if all(location == ABSENT for location in row.locations):
            yield f"{row.name}: never exists."
        yield from _find_impossible(row, rows, text)


def _find_impossible(row: Row, rows: dict[str, Row], text: str) -> Iterator[str]:
    own = {_normalize(alias) for alias in row.aliases}
    reported: set[str] = set()
    for position, location in enumerate(row.locations):
        if location in (ABSENT, UNKNOWN):
            continue
        name = _normalize(location)
        if f" {name} " not in text and name not in reported:
            yield f"{row.name}: the text has no {location!r}."
        reported.add(name)
        if name in own:
            yield f"{row.name}: located in itself in cell {position}."
            continue
        other = rows.get(name)
        if other is None:
            continue
        where = other.locations[position]
        if where == ABSENT:
            yield f"{row.name}: at {location!r} in cell {position}, which does not exist then."
        elif _normalize(where) in own:
            yield f"{row.name}: at {location!r} in cell {position}, which is at {where!r}."


def measure_shares(examples: Sequence[WrittenProcedure]) -> Shares:
    """Count cells, changes and initial locations."""
    actions: Counter[Action] = Counter()
    cells: Counter[str] = Counter()
    starts: Counter[str] = Counter()
    n_entities = n_steps = unnamed = unchanged = 0
    for each in examples:
        gold = each.example.gold
        steps = each.example.procedure.steps
        n_steps += len(steps)
        words_of_steps = [set(_normalize(step.text).split()) for step in steps]
        for row in gold.rows if gold else ():
            n_entities += 1
            starts[_kind_of(row.initial)] += 1
            names = set(_normalize(row.name).split())
            unchanged += all(action == Action.NONE for action in row.actions)
            for cell, words in zip(row.steps, words_of_steps, strict=True):
                actions[cell.action] += 1
                cells[_kind_of(cell.after)] += 1
                unnamed += cell.action != Action.NONE and not names & words
    return Shares(len(examples), n_entities, n_steps, actions, cells, starts, unnamed, unchanged)


def _kind_of(location: str) -> str:
    return location if location in (ABSENT, UNKNOWN) else "location"


def _normalize(phrase: str) -> str:
    """Convert to lower case and make plurals singular.

    Not a stemmer: it would give digester and digestate the same stem.
    """
    return " ".join(_to_singular(word) for word in _WORD.findall(phrase.lower()))


def _to_singular(word: str) -> str:
    """Remove the ending of a plural.

    >>> [_to_singular(word) for word in ("berries", "boxes", "leaves", "tubes", "glass")]
    ['berry', 'box', 'leaf', 'tube', 'glass']
    """
    if word.endswith("ies") and len(word) > _SHORTEST:
        return f"{word[:-3]}y"
    if word == "leaves":
        return "leaf"
    if re.search("(?:[sxz]|[cs]h)es$", word) and len(word) > _SHORTEST:
        return word[:-2]
    is_plural = word.endswith("s") and not word.endswith("ss") and len(word) >= _SHORTEST
    return word[:-1] if is_plural else word
