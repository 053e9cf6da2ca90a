"""Names of one location: "column" and "spin column" are merged before a grid is decoded.

A text names a location in full and later by a shorter name, and both are candidates. The network
divides its probability between them, so that a third location may win. Merging adds the
probabilities up and gives them to the name that is most probable in the whole grid, so that a
location also keeps one name.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Names
from koala.network.output import Output, log_softmax
from koala.text.nlp import stem_phrase

Ints = NDArray[np.int64]

_EXCLUDED = -1e4
"""Log probability of a name that is merged into another one."""


def merge_locations(output: Output, names: Names, kept: Collection[int] = ()) -> Output:
    """Merge the names of each location in the scores of one procedure.

    The candidates in `kept` are not merged into others; others may be merged into them.
    """
    groups = group_names(names)
    groups[list(kept)] = list(kept)
    # (entities, positions, candidates)
    scores = np.stack([log_softmax(output.location_scores(n)) for n in range(len(output))])
    totals = np.exp(scores).sum((0, 1))
    merged = output.locations.astype(np.float32).copy()
    n_positions = scores.shape[1]
    merged[:, :n_positions, : len(names)] = _EXCLUDED
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        chosen = group if group in kept else members[totals[members].argmax()]
        merged[:, :n_positions, chosen] = np.logaddexp.reduce(scores[:, :, members], axis=-1)
    return replace(output, locations=merged)


def group_names(names: Names) -> Ints:
    """Give each candidate the number of the fullest name of its location: (candidates,).

    A name belongs to a longer one that ends with it, up to word endings, unless several different
    ones do: with "spin column" and "waste column", "column" stays by itself.

    >>> group_names(("?", "spin column", "column", "columns", "tube")).tolist()
    [0, 1, 1, 1, 4]
    """
    phrases = [stem_phrase(name) for name in names]
    groups = np.arange(len(names))
    for number, phrase in enumerate(phrases):
        if not phrase:
            continue
        longer = [n for n, other in enumerate(phrases) if other[-len(phrase) :] == phrase]
        fullest = max(longer, key=lambda n: (len(phrases[n]), -n))
        if all(_ends_with(phrases[fullest], phrases[n]) for n in longer):
            groups[number] = fullest
    return groups


def _ends_with(phrase: tuple[str, ...], end: tuple[str, ...]) -> bool:
    return phrase[-len(end) :] == end
