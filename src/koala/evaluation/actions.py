"""Counts of predicted state changes, as in a figure of the paper."""

from collections import Counter
from collections.abc import Iterable

from koala.grid import Grid
from koala.grid.states import Action


def count_actions(grids: Iterable[Grid]) -> dict[str, int]:
    """Count CREATE, MOVE and DESTROY over all entities and steps."""
    found = Counter(action for grid in grids for row in grid.rows for action in row.actions)
    return {action.value: found[action] for action in Action if action != Action.NONE}
