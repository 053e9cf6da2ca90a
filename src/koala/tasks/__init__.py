"""Tasks: how the tags of ProPara and of Recipes are decoded and scored.

Everything that differs between the two is in this package; other code asks the task.
"""

from koala.settings import Settings
from koala.tasks.propara import PROPARA
from koala.tasks.recipes import RECIPES, RECIPES_CHANGES
from koala.tasks.task import Task

__all__ = ["PROPARA", "RECIPES", "RECIPES_CHANGES", "Task", "find_task"]


def find_task(settings: Settings) -> Task:
    """Give the task of a tracker's settings; koala's own corpus follows ProPara's."""
    if settings.corpus != "recipes":
        return PROPARA
    return RECIPES if settings.decoder.tags == "participation" else RECIPES_CHANGES
