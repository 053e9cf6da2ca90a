"""All ingredients of a recipe together.

A step has one place, and what it uses is there afterwards. Where it has none, what it uses for the
first time is somewhere (`?`), and all else stays; or all that it uses is taken out to somewhere.
docs/recipes.md says how this was found in the annotations.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from koala.decoding.output import Output
from koala.decoding.tags import decode_tags
from koala.states import Tag

Scores = NDArray[np.float64]

SOMEWHERE = 0
"""The candidate that stands for `?`."""
NOWHERE = -1
"""What stands in the place of a candidate where the ingredient is not there yet."""


def decode_together(output: Output, indices: Sequence[int]) -> list[tuple[int, ...]]:
    """Decode all ingredients of a recipe: the candidate at each position, −1 before its first use.

    Which steps use an ingredient is decoded for each alone. The place of a step is then the one
    that is the most probable for all it uses; step by step, for what stays depends on where it was.
    """
    uses = [[tag in (Tag.C, Tag.M) for tag in decode_tags(output, index)] for index in indices]
    # (ingredients, positions, candidates)
    places = np.stack([_log_softmax(output.place_scores(index)) for index in indices])
    now = np.full(len(indices), NOWHERE)
    rows = [now]
    for step, is_used in enumerate(np.array(uses).T):
        now = now.copy()
        if is_used.any():
            now[is_used] = _choose(places[is_used, step + 1], now[is_used])
        rows.append(now)
    return [tuple(int(place) for place in row) for row in np.stack(rows, axis=1)]


def _choose(scores: Scores, before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose where the used ingredients are after a step: scores (ingredients, candidates)."""
    stays = np.where(before == NOWHERE, SOMEWHERE, before)
    stay_score = scores[np.arange(len(scores)), stays].sum()
    together = scores.sum(0)
    best = int(together.argmax())
    return stays if stay_score >= together[best] else np.full_like(before, best)


def _log_softmax(scores: NDArray[np.float32]) -> Scores:
    wide = scores.astype(np.float64)
    return np.asarray(wide - np.logaddexp.reduce(wide, axis=-1, keepdims=True))
