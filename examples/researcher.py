"""For researchers: score another system, look at it, train a tracker of your own in ten lines.

    KOALA_DATA=… python examples/researcher.py predictions.tsv [--train]

`KOALA_DATA` holds `propara/` as it is released; the predictions are in the leaderboard's format.
Training needs `pip install koala[train]` and `koala encoders fetch minilm`.
"""

import os
import sys
from pathlib import Path

import koala
from koala.corpora import read_corpus
from koala.corpora.leaderboard import read_predictions

DATA = Path(os.environ["KOALA_DATA"], "propara")


def score_predictions(path: Path) -> None:
    """Score a file on dev as the leaderboard does, and draw its first grid."""
    dev = read_corpus(DATA).splits["dev"]
    gold = {example.procedure.id: example.gold for example in dev}
    predicted = read_predictions(path, {id: grid.steps for id, grid in gold.items()})
    scores = koala.score(predicted, gold)
    overall = scores.overall
    print(f"P {overall.precision:.3f}  R {overall.recall:.3f}  F1 {overall.f1:.3f}")
    for name, question in scores.questions.items():
        print(f"  {name:12} {question.f1:.3f}")
    print(koala.render(next(iter(predicted.values()))))


def train_tracker() -> None:
    """Train, report and keep the best epoch in a folder."""
    from koala.settings import read_settings
    from koala.training.run import DataSource, train

    configs = Path(__file__).parents[1] / "configs" / "paper" / "propara"
    # Without the language-model stages, whose weights the file names.
    settings = read_settings(configs / "koala-minilm.toml").without_initial_weights()
    report = train(settings, DataSource(read_corpus(DATA)), Path("runs", "mine"), tell=print)
    print(report.document["overall"])


if __name__ == "__main__":
    score_predictions(Path(sys.argv[1]))
    if "--train" in sys.argv:
        train_tracker()
