"""Scores of changes, for practical use: which changes were found, and with which locations.

A change is a cell with an action other than NONE. It is right if the predicted action equals the
gold one, and right *with its location* if the location (before a DESTROY, after any other action)
is alike, too. Locations are alike if they are the same phrase up to word endings, articles and
modifiers: "tube" and "the clean tubes" are alike, "column" and "collection tube" are not. A cell is
right if the location after the step is alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from koala.errors import KoalaError
from koala.evaluation.bootstrap import find_interval, sample_procedures
from koala.evaluation.discovery import match_names
from koala.evaluation.document import check_same_entities
from koala.evaluation.locations import is_alike
from koala.evaluation.scores import PRF, build_signature, fingerprint
from koala.grid import Cell, Grid
from koala.grid.states import Action

_SAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """Counts of one procedure."""

    actions: int = 0
    """Changes whose action is right."""
    located: int = 0
    """Changes whose action and location are right."""
    predicted: int = 0
    gold: int = 0
    right_cells: int = 0
    cells: int = 0

    def to_row(self) -> list[int]:
        """Give the counts in the order of the fields."""
        return [getattr(self, each.name) for each in fields(self)]


_COLUMNS = {each.name: number for number, each in enumerate(fields(ChangeCounts))}


@dataclass(frozen=True, slots=True)
class ChangeScore:
    """Scores of some procedures, with 95 % bootstrap intervals of both F1."""

    procedures: int
    actions: PRF
    located: PRF
    cells: float
    """Accuracy."""
    actions_interval: tuple[float, float]
    located_interval: tuple[float, float]

    def to_dict(self) -> dict[str, object]:
        """Give plain values."""
        return {
            "procedures": self.procedures,
            "changes": {**self.actions.to_dict(), "interval": list(self.actions_interval)},
            "changes_with_location": {
                **self.located.to_dict(),
                "interval": list(self.located_interval),
            },
            "cells": self.cells,
        }


@dataclass(frozen=True, slots=True)
class ChangeScores:
    """Scores of all procedures, and of each field if ids name one: `kitchen/poached-eggs`."""

    overall: ChangeScore
    fields: Mapping[str, ChangeScore]
    signature: str

    def to_dict(self) -> dict[str, object]:
        """Give plain values."""
        by_field = {name: score.to_dict() for name, score in self.fields.items()}
        return {"overall": self.overall.to_dict(), "fields": by_field}


def score_changes(
    predicted: Mapping[str, Grid], gold: Mapping[str, Grid], *, has_found_entities: bool = False
) -> ChangeScores:
    """Score predicted grids, micro-averaged over procedures.

    With `has_found_entities`, rows are matched by the head nouns of their names. All changes of a
    gold entity without a match are missed, and all changes of a found entity without one are wrong.
    """
    if has_found_entities:
        if not gold:
            raise KoalaError("There are no gold grids to score against.")
        missing = [id for id in gold if id not in predicted]
        if missing:
            shown = ", ".join(missing[:3])
            raise KoalaError(f"Predictions are missing for {len(missing)} procedure(s): {shown}.")
    else:
        check_same_entities(predicted, gold)
    counts = {
        id: _count(predicted[id], grid, has_found_entities=has_found_entities)
        for id, grid in gold.items()
    }
    by_field: dict[str, list[ChangeCounts]] = {}
    for id, each in counts.items():
        name, slash, _ = id.partition("/")
        if slash:
            by_field.setdefault(name, []).append(each)
    return ChangeScores(
        _summarize(list(counts.values())),
        {name: _summarize(each) for name, each in sorted(by_field.items())},
        build_signature(
            "changes",
            len(gold),
            gold=fingerprint(gold.values()),
            predicted=fingerprint(predicted[id] for id in gold),
            entities="found" if has_found_entities else "given",
        ),
    )


def _count(predicted: Grid, gold: Grid, *, has_found_entities: bool) -> ChangeCounts:
    if len(predicted.steps) != len(gold.steps):
        raise KoalaError(
            f"Procedure {gold.id}: the predictions have {len(predicted.steps)} steps, gold has "
            f"{len(gold.steps)}."
        )
    partner = _match_rows(predicted, gold, has_found_entities=has_found_entities)
    totals = dict.fromkeys(_COLUMNS, 0)
    for number, row in enumerate(gold.rows):
        mine = predicted.rows[partner[number]] if number in partner else None
        for step, truth in enumerate(row.steps):
            cell = mine.steps[step] if mine else None
            totals["cells"] += 1
            totals["right_cells"] += cell is not None and is_alike(cell.after, truth.after)
            totals["gold"] += truth.action != Action.NONE
            if cell is not None and cell.action == truth.action != Action.NONE:
                totals["actions"] += 1
                totals["located"] += _is_located(cell, truth)
    totals["predicted"] = sum(
        cell.action != Action.NONE for row in predicted.rows for cell in row.steps
    )
    return ChangeCounts(**totals)


def _match_rows(predicted: Grid, gold: Grid, *, has_found_entities: bool) -> dict[int, int]:
    """Map the index of each matched gold row to the index of the predicted row."""
    if has_found_entities:
        return match_names(predicted.names, gold.names)
    unused = list(range(len(predicted.rows)))
    partner = {}
    for number, name in enumerate(gold.names):
        # Entities with the same name are matched in order.
        found = next((i for i in unused if predicted.names[i] == name), None)
        if found is not None:
            unused.remove(found)
            partner[number] = found
    return partner


def _is_located(cell: Cell, truth: Cell) -> bool:
    if truth.action == Action.DESTROY:
        return is_alike(cell.before, truth.before)
    return is_alike(cell.after, truth.after)


def _summarize(counts: Sequence[ChangeCounts]) -> ChangeScore:
    # (procedures, counts)
    table = np.array([each.to_row() for each in counts])
    totals = table.sum(axis=0)
    sampled = sample_procedures(len(table), _SAMPLES)
    samples = np.stack(
        [table[:, column][sampled].sum(axis=1) for column in range(table.shape[1])], 1
    )
    return ChangeScore(
        procedures=len(table),
        actions=_to_prf(totals, "actions"),
        located=_to_prf(totals, "located"),
        cells=float(totals[_COLUMNS["right_cells"]] / max(totals[_COLUMNS["cells"]], 1)),
        actions_interval=_find_interval(samples, "actions"),
        located_interval=_find_interval(samples, "located"),
    )


def _to_prf(totals: NDArray[np.int64], name: str) -> PRF:
    right, predicted, gold = (
        int(totals[_COLUMNS[column]]) for column in (name, "predicted", "gold")
    )
    return PRF(right / predicted if predicted else 1.0, right / gold if gold else 1.0)


def _find_interval(samples: NDArray[np.int64], name: str) -> tuple[float, float]:
    right, predicted, gold = (
        samples[:, _COLUMNS[column]] for column in (name, "predicted", "gold")
    )
    return find_interval(2 * right / np.maximum(predicted + gold, 1))
