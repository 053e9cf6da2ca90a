"""Temperatures and the location reranker, fitted on dev, and how calibrated a network then is."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from koala.batch import IGNORED, TAGS, build_gold
from koala.decoding import Output
from koala.decoding.output import log_softmax
from koala.decoding.tags import find_tag_marginals
from koala.grid import Grid
from koala.hints import WEIGHTS, Reranker, describe_places
from koala.items import Item
from koala.prediction import Scored, Temperatures

_TEMPERATURES = np.exp(np.linspace(np.log(0.5), np.log(6.0), 50))
_BINS = 10

Floats = NDArray[np.float64]


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


_PENALTY = 5.0
"""On the squared distance of the reranker's weights from those that change nothing."""


def fit_reranker(scored: Sequence[Scored], temperatures: Temperatures) -> Reranker:
    """Fit the location reranker by maximum likelihood of the gold locations.

    With weight 1 for the network and 0 for all else it changes nothing; the penalty keeps it near.
    """
    cells = [cell for one in scored if one[0].gold for cell in _describe_cells(*one, temperatures)]
    identity = np.eye(1 + len(WEIGHTS))[0]

    def measure(theta: Floats) -> tuple[float, Floats]:
        """Give the penalised NLL and its gradient."""
        nll, gradient = 0.0, np.zeros_like(theta)
        for features, gold in cells:
            log_probabilities = log_softmax(features @ theta)
            nll -= float(log_probabilities[gold])
            gradient -= features[gold] - np.exp(log_probabilities) @ features
        distance = theta - identity
        return nll + _PENALTY / 2 * distance @ distance, gradient + _PENALTY * distance

    found = minimize(measure, identity, jac=True, method="L-BFGS-B").x.round(4)
    return Reranker(float(found[0]), dict(zip(WEIGHTS, found[1:].tolist(), strict=True)))


def _describe_cells(
    item: Item, output: Output, index: int, temperatures: Temperatures
) -> Iterator[tuple[Floats, int]]:
    """Give (candidates, 1 + weights) of each position that has a gold location, and which it is."""
    said = log_softmax(output.cool(*temperatures).place_scores(index))[:, :, None]
    features = np.concatenate([said, describe_places(item.procedure, item.entity)], axis=2)
    for position, place in enumerate(build_gold([item]).places[0]):
        if place != IGNORED:
            yield features[position], int(place)


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
