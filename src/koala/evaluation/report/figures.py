"""The numbers of the figures of a page: bars for each system, made from runs."""

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from koala.evaluation.report.runs import Run, find_values, group_rows, read_runs
from koala.evaluation.report.tables import RUNS, Tables, read_tables

Bars = dict[str, dict[str, float]]
"""`{system: {group of bars: value}}`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure to draw."""

    path: Path
    title: str
    label: str
    bars: Bars


def find_figures(folder: Path) -> list[Figure]:
    """Give the figures of all tables with `figures` whose groups have runs.

    A figure has a `file`, a `caption`, a `label` of its axis, and `bars`, pairs of a name and a
    field; with `gold`, fields of the gold values, they are a system of their own.
    """
    runs, tables = read_runs(folder / RUNS), read_tables(folder)
    return [
        Figure(folder / each["file"], each["caption"], each["label"], bars)
        for table in _with_figures(tables)
        for each in table["figures"]
        if (bars := read_bars(table, each, runs))
    ]


def _with_figures(tables: Tables) -> list[dict[str, Any]]:
    return [table for table in tables.values() if "figures" in table]


def read_bars(table: dict[str, Any], figure: dict[str, Any], runs: list[Run]) -> Bars:
    """Give the mean over seeds of each bar of each model; models that lack one are left out."""
    rows = group_rows(table, runs)
    names = [name for name, _ in figure["bars"]]
    bars: Bars = {}
    gold = [find_values(own, field) for own in rows[:1] for field in figure.get("gold", ())]
    if gold and all(gold):
        bars["gold"] = {name: float(own[0]) for name, own in zip(names, gold, strict=True)}
    for own in rows:
        values = [find_values(own, field) for _, field in figure["bars"]]
        if all(values):
            means = map(statistics.fmean, values)
            bars[own[0]["model"]] = dict(zip(names, means, strict=True))
    return bars
