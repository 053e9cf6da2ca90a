import json
from pathlib import Path

import pytest

from koala.corpora.leaderboard import read_predictions

CASES = [
    *(f"{number:02}" for number in range(30)),
    *(f"fixture-{number}" for number in range(2, 7)),
    "gold",
    "meet",
    "none",
]

# The published sentence-level evaluator cannot read these, or they have other participants.
WITHOUT_SENTENCE_SCORES = {"21", "22", "23", "24", "27", "28", *CASES[30:35]}


class Case:
    """A prediction file and its official scores."""

    def __init__(self, propara: Path, name: str) -> None:
        folder = propara / "evaluator-cases" / name
        own = folder / "answers.tsv"
        self.gold_path = own if own.is_file() else propara / "leaderboard" / "dev" / "answers.tsv"
        self.predictions_path = folder / "predictions.tsv"
        self.official = json.loads((folder / "official-scores.json").read_text())

    @property
    def grids(self):
        return read_predictions(self.predictions_path), read_predictions(self.gold_path)


@pytest.fixture(params=CASES)
def case(propara, request):
    return Case(propara, request.param)


@pytest.fixture
def get_case(propara):
    return lambda name: Case(propara, name)
