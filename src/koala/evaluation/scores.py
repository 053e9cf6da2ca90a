"""Values that all metrics share: precision, recall, F1, and a signature of how they were made."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import koala
from koala.grid import Grid

Grids = Grid | Iterable[Grid] | Mapping[str, Grid]


@dataclass(frozen=True, slots=True)
class PRF:
    """Precision, recall and their harmonic mean, from 0 to 1."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean; 0 if both are 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def to_dict(self, digits: int | None = None) -> dict[str, float]:
        """Give plain values, rounded if `digits` is given."""
        values = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        if digits is None:
            return values
        return {name: round(value, digits) for name, value in values.items()}


def build_signature(metric: str, n: int, **facts: str | int) -> str:
    """Describe in one line how a number was made.

    Two numbers are comparable if their signatures are equal except for `predicted`:
    `propara-document|n:43|gold:5f1c…|predicted:a410…|koala:0.1.0`.
    """
    parts = [metric, f"n:{n}", *(f"{name}:{value}" for name, value in facts.items())]
    return "|".join([*parts, f"koala:{koala.__version__}"])


def fingerprint(grids: Iterable[Grid]) -> str:
    """Give eight hexadecimal digits that change if and only if a cell changes."""
    return digest(line for grid in grids for line in grid.to_tsv().split("\n"))


def digest(lines: Iterable[str]) -> str:
    """Give eight hexadecimal digits of some lines, independent of their order."""
    text = "\n".join(sorted(lines))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def group_by_id(grids: Grids) -> dict[str, Grid]:
    """Give grids by their ids."""
    if isinstance(grids, Grid):
        return {grids.id: grids}
    values = grids.values() if isinstance(grids, Mapping) else grids
    return {grid.id: grid for grid in values}
