"""Evaluation: predicted and gold grids → typed scores with a signature."""

from koala.evaluation.bootstrap import Comparison, compare_documents, compare_systems
from koala.evaluation.document import DocumentScores, score_document
from koala.evaluation.recipes import RecipesScores, score_recipes
from koala.evaluation.scores import PRF, Grids, group_by_id
from koala.evaluation.sentence import SentenceScores, score_sentence

__all__ = [
    "PRF",
    "Comparison",
    "DocumentScores",
    "RecipesScores",
    "SentenceScores",
    "compare_documents",
    "compare_systems",
    "score",
    "score_document",
    "score_recipes",
    "score_sentence",
]


def score(predicted: Grids, gold: Grids) -> DocumentScores:
    """Score one grid or many at document level, as the ProPara leaderboard does."""
    return score_document(group_by_id(predicted), group_by_id(gold))
