"""Evaluation: grids in, typed scores with a signature out."""

from collections.abc import Iterable, Mapping

from koala.evaluation.bootstrap import Comparison, compare_documents
from koala.evaluation.document import DocumentScores, score_document
from koala.evaluation.recipes import RecipesScores, score_recipes
from koala.evaluation.scores import PRF
from koala.evaluation.sentence import SentenceScores, score_sentence
from koala.grid import Grid

__all__ = [
    "PRF",
    "Comparison",
    "DocumentScores",
    "RecipesScores",
    "SentenceScores",
    "compare_documents",
    "score",
    "score_corpus",
    "score_document",
    "score_recipes",
    "score_sentence",
]

Grids = Grid | Iterable[Grid] | Mapping[str, Grid]


def score(predicted: Grids, gold: Grids) -> DocumentScores:
    """Score one grid or many at document level, as the ProPara leaderboard does."""
    return score_document(_by_id(predicted), _by_id(gold))


def score_corpus(corpus: str, predicted: Grids, gold: Grids) -> DocumentScores | RecipesScores:
    """Score with the measure of a corpus: Recipes counts places that change."""
    measure = score_recipes if corpus == "recipes" else score_document
    return measure(_by_id(predicted), _by_id(gold))


def _by_id(grids: Grids) -> dict[str, Grid]:
    if isinstance(grids, Grid):
        return {grids.id: grids}
    values = grids.values() if isinstance(grids, Mapping) else grids
    return {grid.id: grid for grid in values}
