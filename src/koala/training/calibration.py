"""Temperature scaling, the location reranker and the calibration error, all on dev."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from koala.decoding.location_features import FEATURES, describe_locations
from koala.decoding.location_reranker import LocationReranker
from koala.decoding.viterbi import find_tag_marginals
from koala.grid import Grid
from koala.inference.calibration import Temperatures
from koala.inference.scoring import Scored
from koala.inputs.examples import Item
from koala.inputs.targets import IGNORED, TAGS, build_gold
from koala.network.output import Output, log_softmax

_TEMPERATURES = np.exp(np.linspace(np.log(0.5), np.log(6.0), 50))
"""The temperatures that are tried."""
_BINS = 10

Floats = NDArray[np.float64]


def find_temperatures(scored: Sequence[Scored]) -> Temperatures:
    """Find the temperatures of tags and locations with the lowest NLL of gold."""
    known = _with_gold(scored)
    tag = _search(lambda t: _measure(_tag_nll, known, t))
    location = _search(lambda t: _measure(_location_nll, known, t))
    return tag, location


def measure_nll(
    scored: Sequence[Scored], temperatures: Temperatures = (1.0, 1.0)
) -> tuple[float, float]:
    """Give the mean NLL of the gold tags and of the gold locations."""
    known = _with_gold(scored)
    tag, location = temperatures
    return _measure(_tag_nll, known, tag), _measure(_location_nll, known, location)


_Entity = tuple[Item, Output, int]
"""An entity, the output that holds its scores, and its row there."""


def _with_gold(scored: Sequence[Scored]) -> list[_Entity]:
    return [
        (item, each.output, index)
        for each in scored
        for index, item in enumerate(each.items)
        if item.gold
    ]


def _measure(
    nll: Callable[[Item, Output, int, float], NDArray[np.float64]],
    known: Sequence[_Entity],
    temperature: float,
) -> float:
    return float(np.mean(np.concatenate([nll(*one, temperature) for one in known])))


def _search(loss: Callable[[float], float]) -> float:
    return float(min(_TEMPERATURES, key=lambda t: loss(float(t))))


def _tag_nll(item: Item, output: Output, index: int, temperature: float) -> NDArray[np.float64]:
    log_probabilities = find_tag_marginals(output.with_temperatures(temperature, 1.0), index)
    numbers = [TAGS.index(tag) for tag in item.tags]
    return np.asarray(-log_probabilities[np.arange(len(numbers)), numbers]).clip(max=20)


def _location_nll(
    item: Item, output: Output, index: int, temperature: float
) -> NDArray[np.float64]:
    scores = output.location_scores(index).astype(np.float64) / temperature
    log_probabilities = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    gold = build_gold([item])
    locations, may_stay = gold.locations[0], gold.may_stay[0]
    positions = np.flatnonzero(locations != IGNORED)
    chosen = log_probabilities[positions, locations[positions]]
    either = np.logaddexp(chosen, log_probabilities[positions, 0])
    return np.asarray(-np.where(may_stay[positions] & (locations[positions] > 0), either, chosen))


_PENALTY = 5.0
"""Penalty on the squared distance of the reranker's weights from the neutral ones."""


def fit_reranker(scored: Sequence[Scored], temperatures: Temperatures) -> LocationReranker:
    """Fit the location reranker by maximum likelihood of the gold locations.

    A penalty draws it towards the neutral weights: 1 for the network and 0 for all features.
    """
    known = _with_gold(scored)
    cells = [cell for one in known for cell in _describe_cells(*one, temperatures)]
    identity = np.eye(1 + len(FEATURES))[0]

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
    return LocationReranker(float(found[0]), dict(zip(FEATURES, found[1:].tolist(), strict=True)))


def _describe_cells(
    item: Item, output: Output, index: int, temperatures: Temperatures
) -> Iterator[tuple[Floats, int]]:
    """Give the features and the gold candidate of each position that has one.

    Features are (candidates, 1 + features): first the network's log probability, then the others.
    """
    scaled = output.with_temperatures(*temperatures)
    network = log_softmax(scaled.location_scores(index))[:, :, None]
    features = np.concatenate([network, describe_locations(item.procedure, item.entity)], axis=2)
    for position, location in enumerate(build_gold([item]).locations[0]):
        if location != IGNORED:
            yield features[position], int(location)


def measure_calibration(grids: Sequence[Grid], gold: dict[str, Grid]) -> float:
    """Give the expected calibration error of all cells: the gap of confidence and accuracy.

    A cell is right if its action and its location are. Uses ten bins of equal width.
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
        members = bins == number
        if members.any():
            gap = abs(float(confidence[members].mean()) - float(is_right[members].mean()))
            error += gap * members.sum() / len(pairs)
    return error
