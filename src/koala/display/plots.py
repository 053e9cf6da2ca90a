"""Plots: learning curves and grouped bars."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from koala.errors import needs_extra
from koala.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOSSES = {"loss": "total", "state_loss": "states", "location_loss": "locations"}


def draw_curve(epochs: Sequence[Mapping[str, float]], path: Path) -> None:
    """Draw losses and dev scores by epoch; `epochs` are the lines of a training log."""
    figure = _build_figure(9, 3.5)
    left, right = figure.subplots(1, 2)
    numbers = [epoch["epoch"] for epoch in epochs]
    for name, label in _LOSSES.items():
        left.plot(numbers, [epoch[name] for epoch in epochs], marker=".", label=label)
    for name in ("precision", "recall", "f1"):
        values = [100 * epoch[name] for epoch in epochs]
        right.plot(numbers, values, marker=".", label=name, lw=2.5 if name == "f1" else 1)
    left.set(xlabel="epoch", title="Loss on train")
    right.set(xlabel="epoch", title="Dev, percent")
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.xaxis.get_major_locator().set_params(integer=True)
    _save(figure, path)


def draw_bars(
    groups: Mapping[str, Mapping[str, float]], path: Path, *, title: str, label: str
) -> None:
    """Draw a bar for each system in each group; `groups` is `{system: {group: value}}`."""
    names = list(next(iter(groups.values())))
    figure = _build_figure(max(7.0, 1.6 * len(names) + 0.5 * len(groups)), 3.8)
    axes = figure.subplots()
    width = 0.8 / len(groups)
    for number, (system, values) in enumerate(groups.items()):
        shift = (number - (len(groups) - 1) / 2) * width
        bars = axes.bar(
            [position + shift for position in range(len(names))],
            [values[name] for name in names],
            width,
            label=system,
            color="0.25" if system == "gold" else None,
        )
        if len(groups) <= 5:
            axes.bar_label(bars, fmt="%.0f", fontsize=7, padding=1)
    axes.set(title=title, ylabel=label)
    axes.set_xticks(range(len(names)), names)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    _save(figure, path)


def _build_figure(width: float, height: float) -> "Figure":
    with needs_extra("train", "A plot"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: "Figure", path: Path) -> None:
    """Save atomically, with the same bytes for the same numbers."""
    import matplotlib

    with replacing(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "koala"}):
        kind = path.suffix.removeprefix(".")
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(temporary, format=kind, metadata=metadata, dpi=150)
