"""Recipes: precision, recall and F1 of location changes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from koala.errors import KoalaError
from koala.evaluation.document import check_same_entities
from koala.evaluation.scores import PRF, build_signature, fingerprint
from koala.grid import Grid
from koala.grid.states import ABSENT


@dataclass(frozen=True, slots=True)
class RecipesScores:
    """How many location changes were predicted, wanted and right."""

    correct: int
    predicted: int
    gold: int
    signature: str

    @property
    def overall(self) -> PRF:
        """Micro precision, recall and F1; with nothing predicted precision is 1, as elsewhere."""
        precision = self.correct / self.predicted if self.predicted else 1.0
        return PRF(precision, self.correct / self.gold if self.gold else 1.0)

    def to_dict(self) -> dict[str, float]:
        """Give plain values."""
        counts = {"correct": self.correct, "predicted": self.predicted, "gold": self.gold}
        return {**self.overall.to_dict(), **counts}


def score_recipes(predicted: Mapping[str, Grid], gold: Mapping[str, Grid]) -> RecipesScores:
    """Score predicted grids: a change is right if entity, step and new place are equal.

    A change is any new place that exists; `?` is a place like others.
    """
    check_same_entities(predicted, gold)
    for id, grid in gold.items():
        if sorted(predicted[id].names) != sorted(grid.names):
            raise KoalaError(
                f"Recipe {id}: an ingredient's name came more or less often than gold."
            )
        if len(predicted[id].steps) != len(grid.steps):
            n_steps = len(predicted[id].steps)
            raise KoalaError(f"Recipe {id}: {n_steps} steps came, {len(grid.steps)} were expected.")
    wanted = {id: find_changes(grid) for id, grid in gold.items()}
    came = {id: find_changes(predicted[id]) for id in gold}
    signature = build_signature(
        "recipes-location-changes",
        len(gold),
        gold=fingerprint(gold.values()),
        predicted=fingerprint(predicted.values()),
    )
    return RecipesScores(
        correct=sum(len(wanted[id] & came[id]) for id in gold),
        predicted=sum(map(len, came.values())),
        gold=sum(map(len, wanted.values())),
        signature=signature,
    )


def find_changes(grid: Grid) -> set[tuple[str, int, int, str]]:
    """Find (entity, which of that name, step, new place) of every change."""
    seen: Counter[str] = Counter()
    changes = set()
    for row in grid.rows:
        locations = row.locations
        for step in range(1, len(locations)):
            if locations[step] not in (locations[step - 1], ABSENT):
                changes.add((row.name, seen[row.name], step, locations[step]))
        seen[row.name] += 1
    return changes
