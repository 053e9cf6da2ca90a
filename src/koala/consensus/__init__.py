"""The grid that would score best, if the truth is what a network thinks it may be.

The most probable life of each entity is the best guess at the whole of it. Scores count parts: an
input, a move, a conversion, shared by many lives that differ elsewhere. So lives are drawn as the
network believes in them and as they go together, and the grid is chosen that does best against all
that was drawn, on average (minimum Bayes risk decoding; Kumar and Byrne 2004).
"""

from collections.abc import Sequence

from koala.consensus.document import choose_lives, draw_lives
from koala.consensus.recipes import choose_changes
from koala.decoding import Output
from koala.grid import Row

__all__ = ["choose_rows", "draw_lives"]


def choose_rows(
    output: Output, indices: Sequence[int], likeliest: Sequence[Row], names: tuple[str, ...]
) -> list[Row]:
    """Choose a row for every entity of a procedure; `likeliest` are the most probable ones.

    By the score of the corpus: questions about the document, or location changes of a recipe. The
    probabilities of `output` should be calibrated. The same output gives the same rows.
    """
    if not output.has_uses:
        return choose_lives(output, indices, likeliest, names)
    return choose_changes(output, indices, [row.name for row in likeliest], names)
