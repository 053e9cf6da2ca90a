"""Tasks: decoding, probabilities, utility and scoring for ProPara and for Recipes.

Everything that differs between the two is in this package; all other code asks the task.
"""

from koala.settings import Settings
from koala.tasks.propara import PROPARA
from koala.tasks.recipes import RECIPES, RECIPES_CHANGES
from koala.tasks.task import Task

__all__ = ["PROPARA", "RECIPES", "RECIPES_CHANGES", "Task", "find_task"]


def find_task(settings: Settings) -> Task:
    """Give the task for a model's settings; koala's own corpus uses ProPara's."""
    if settings.corpus != "recipes":
        return PROPARA
    return RECIPES if settings.decoder.tags == "participation" else RECIPES_CHANGES
