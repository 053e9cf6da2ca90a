"""Temperatures that make probabilities honest, found on dev, and how honest they then are."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from koala.batch import IGNORED, TAGS, build_gold
from koala.decoding import Output
from koala.decoding.tags import find_tag_marginals
from koala.grid import Grid
from koala.items import Item
from koala.prediction import Scored, Temperatures

_TEMPERATURES = np.exp(np.linspace(np.log(0.5), np.log(6.0), 50))
_BINS = 10


def find_temperatures(scored: Sequence[Scored]) -> Temperatures:
    """Find the temperatures under which gold tags and places are the most probable."""
    known = [one for one in scored if one[0].gold]
    tag = _search(lambda t: _measure(_tag_nll, known, t))
    place = _search(lambda t: _measure(_place_nll, known, t))
    return tag, place


def measure_surprise(
    scored: Sequence[Scored], temperatures: Temperatures = (1.0, 1.0)
) -> tuple[float, float]:
    """Give the mean −log p of gold tags and of gold places."""
    known = [one for one in scored if one[0].gold]
    tag, place = temperatures
    return _measure(_tag_nll, known, tag), _measure(_place_nll, known, place)


def _measure(
    surprise: Callable[[Item, Output, int, float], NDArray[np.float64]],
    scored: Sequence[Scored],
    temperature: float,
) -> float:
    return float(np.mean(np.concatenate([surprise(*one, temperature) for one in scored])))


def _search(loss: Callable[[float], float]) -> float:
    return float(min(_TEMPERATURES, key=lambda t: loss(float(t))))


def _tag_nll(item: Item, output: Output, index: int, temperature: float) -> NDArray[np.float64]:
    log_probabilities = find_tag_marginals(output.cool(temperature, 1.0), index)
    numbers = [TAGS.index(tag) for tag in item.tags]
    return np.asarray(-log_probabilities[np.arange(len(numbers)), numbers]).clip(max=20)


def _place_nll(item: Item, output: Output, index: int, temperature: float) -> NDArray[np.float64]:
    scores = output.place_scores(index).astype(np.float64) / temperature
    log_probabilities = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    gold = build_gold([item])
    places, may_stay = gold.places[0], gold.may_stay[0]
    positions = np.flatnonzero(places != IGNORED)
    chosen = log_probabilities[positions, places[positions]]
    either = np.logaddexp(chosen, log_probabilities[positions, 0])
    return np.asarray(-np.where(may_stay[positions] & (places[positions] > 0), either, chosen))


def measure_calibration(grids: Sequence[Grid], gold: dict[str, Grid]) -> float:
    """Give the expected calibration error of all cells: how far confidence is from being right.

    A cell is right if action and place are. Ten bins of equal width.
    """
    pairs = [
        (cell.confidence or 0.0, (cell.action, cell.after) == (truth.action, truth.after))
        for grid in grids
        for row, gold_row in zip(grid.rows, gold[grid.id].rows, strict=True)
        for cell, truth in zip(row.steps, gold_row.steps, strict=True)
    ]
    confidence = np.array([pair[0] for pair in pairs])
    is_right = np.array([pair[1] for pair in pairs])
    bins = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    error = 0.0
    for number in range(_BINS):
        here = bins == number
        if here.any():
            gap = abs(float(confidence[here].mean()) - float(is_right[here].mean()))
            error += gap * here.sum() / len(pairs)
    return error
