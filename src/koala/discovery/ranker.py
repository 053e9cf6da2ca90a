"""Rank candidate entities by whether they are worth tracking: a small logistic regression."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from koala.discovery.features import Description
from koala.errors import FileError
from koala.files import parse_json, read_text, write_text

WEIGHTS = Path(__file__).parent / "weights.json"
"""The weights that koala ships; `koala train-discovery` trains them."""

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranker:
    """Gives each candidate entity the probability that an annotator would track it."""

    encoder: str
    """Name of the encoder whose vectors the weights were trained on."""
    threshold: float
    """Candidates with at least this probability are tracked."""
    weights: Mapping[str, float]
    """Feature name → weight."""
    noun: Weights
    """(width): weights of the noun vector."""
    verb: Weights
    """(width): weights of the verb vector."""

    def score(self, description: Description) -> float:
        """Return the probability of one candidate."""
        total = sum(
            value * self.weights.get(name, 0.0) for name, value in description.features.items()
        )
        total += float(description.noun @ self.noun + description.verb @ self.verb)
        return float(1 / (1 + np.exp(-total)))

    def choose(self, descriptions: Sequence[Description]) -> list[int]:
        """Return the indices of the candidates to track, as `choose` does."""
        scores = [self.score(description) for description in descriptions]
        return choose(scores, self.threshold)

    def write(self, path: str | Path) -> None:
        """Write the weights as JSON, one number a line."""
        value = {
            "encoder": self.encoder,
            "threshold": self.threshold,
            "weights": dict(self.weights),
            "noun": self.noun.tolist(),
            "verb": self.verb.tolist(),
        }
        write_text(path, json.dumps(value, ensure_ascii=False, indent=0) + "\n")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read weights that `write` wrote."""
        value = parse_json(read_text(path))
        try:
            noun, verb = np.array(value["noun"], float), np.array(value["verb"], float)
            return cls(value["encoder"], float(value["threshold"]), value["weights"], noun, verb)
        except (KeyError, TypeError, ValueError) as error:
            problem = f"not the weights of an entity ranker ({type(error).__name__}: {error})."
            raise FileError(path, f"{problem} Train them with: koala train-discovery") from None


def choose(scores: Sequence[float], threshold: float) -> list[int]:
    """Return the indices of all scores ≥ threshold, or of the best score if none reaches it."""
    if not scores:
        return []
    chosen = [number for number, score in enumerate(scores) if score >= threshold]
    return chosen or [int(np.argmax(scores))]


@lru_cache(maxsize=1)
def load_ranker() -> Ranker:
    """Load the ranker that koala ships."""
    return Ranker.read(WEIGHTS)
