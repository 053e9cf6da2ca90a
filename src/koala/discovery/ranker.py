"""Which things are worth tracking: a logistic regression whose weights are a small file."""

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
"""What ships; `koala train-participants` makes it anew."""

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranker:
    """Gives each thing the probability that a person would track it."""

    encoder: str
    """Whose vectors the weights are for."""
    threshold: float
    """From which probability a thing is worth tracking."""
    weights: Mapping[str, float]
    """Of the features by name."""
    noun: Weights
    """Of the noun's vector, (width); the verb's likewise."""
    verb: Weights

    def score(self, description: Description) -> float:
        """Give the probability of one thing."""
        total = sum(
            value * self.weights.get(name, 0.0) for name, value in description.features.items()
        )
        total += float(description.noun @ self.noun + description.verb @ self.verb)
        return float(1 / (1 + np.exp(-total)))

    def choose(self, descriptions: Sequence[Description]) -> list[int]:
        """Choose the things worth tracking by their numbers; if none is, the best one."""
        scores = [self.score(description) for description in descriptions]
        return choose(scores, self.threshold)

    def write(self, path: str | Path) -> None:
        """Write the weights, one a line."""
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
        except (KeyError, TypeError, ValueError):
            raise FileError(path, "not the weights of a ranker of this version.") from None


def choose(scores: Sequence[float], threshold: float) -> list[int]:
    """Choose scores from a threshold on by their numbers; if there are none, the best one."""
    if not scores:
        return []
    chosen = [number for number, score in enumerate(scores) if score >= threshold]
    return chosen or [int(np.argmax(scores))]


@lru_cache(maxsize=1)
def load_ranker() -> Ranker:
    """Give the ranker that koala ships."""
    return Ranker.read(WEIGHTS)
