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
    """Counts of correct, predicted and gold location changes."""

    correct: int
    predicted: int
    gold: int
    signature: str

    @property
    def overall(self) -> PRF:
        """Micro-averaged scores; precision is 1 if nothing is predicted, as in other metrics."""
        precision = self.correct / self.predicted if self.predicted else 1.0
        return PRF(precision, self.correct / self.gold if self.gold else 1.0)

    def to_dict(self) -> dict[str, float]:
        """Give plain values."""
        counts = {"correct": self.correct, "predicted": self.predicted, "gold": self.gold}
        return {**self.overall.to_dict(), **counts}


def score_recipes(predicted: Mapping[str, Grid], gold: Mapping[str, Grid]) -> RecipesScores:
    """Score predicted grids: a change is correct if entity, step and new location are equal.

    A change is any new location except absence; `?` is a location like any other.
    """
    check_same_entities(predicted, gold)
    for id, grid in gold.items():
        came, wanted = Counter(predicted[id].names), Counter(grid.names)
        for name in wanted:
            if came[name] != wanted[name]:
                raise KoalaError(
                    f"Recipe {id}: the predictions have {came[name]} ingredient(s) {name!r}, gold "
                    f"has {wanted[name]}."
                )
        if len(predicted[id].steps) != len(grid.steps):
            n_steps = len(predicted[id].steps)
            raise KoalaError(
                f"Recipe {id}: the predictions have {n_steps} steps, gold has {len(grid.steps)}."
            )
    gold_changes = {id: find_changes(grid) for id, grid in gold.items()}
    predicted_changes = {id: find_changes(predicted[id]) for id in gold}
    signature = build_signature(
        "recipes-location-changes",
        len(gold),
        gold=fingerprint(gold.values()),
        predicted=fingerprint(predicted.values()),
    )
    return RecipesScores(
        correct=sum(len(gold_changes[id] & predicted_changes[id]) for id in gold),
        predicted=sum(map(len, predicted_changes.values())),
        gold=sum(map(len, gold_changes.values())),
        signature=signature,
    )


def find_changes(grid: Grid) -> set[tuple[str, int, int, str]]:
    """Give (entity, its number among those of the same name, step, new location) of each change."""
    seen: Counter[str] = Counter()
    changes = set()
    for row in grid.rows:
        locations = row.locations
        for step in range(1, len(locations)):
            if locations[step] not in (locations[step - 1], ABSENT):
                changes.add((row.name, seen[row.name], step, locations[step]))
        seen[row.name] += 1
    return changes
