"""Time of scoring on ProPara dev: from process start to the scores, and of scoring alone.

    KOALA_DATA=… python benchmarks/evaluation.py

As a unit on noisy machines, the start of a bare Python interpreter is measured in alternation.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from koala.corpora.leaderboard import read_predictions
from koala.evaluation import compare_documents, score_document, score_sentence
from koala.evaluation.labels import read_labels

RUNS = 7


def measure(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    data = os.environ.get("KOALA_DATA")
    if not data:
        sys.exit("Set KOALA_DATA to the folder that contains propara/.")
    propara = Path(data) / "propara"
    gold = propara / "leaderboard" / "dev" / "answers.tsv"
    predictions = propara / "evaluator-cases" / "meet" / "predictions.tsv"
    command = [sys.executable, "-m", "koala", "evaluate", predictions, "--gold", gold, "--json"]

    def start(words: list[object]) -> Callable[[], object]:
        return lambda: subprocess.run(
            [str(word) for word in words], stdout=subprocess.DEVNULL, check=True
        )

    bare, cold = [], []
    for _ in range(RUNS):
        bare.append(measure(start([sys.executable, "-c", "pass"])))
        cold.append(measure(start(command)))
    median_bare, median_cold = statistics.median(bare), statistics.median(cold)
    print(f"bare interpreter            {1000 * median_bare:8.1f} ms")
    print(
        f"koala evaluate, from start  {1000 * median_cold:8.1f} ms"
        f"  ({median_cold / median_bare:.0f}x the bare interpreter)"
    )

    predicted_grids, gold_grids = read_predictions(predictions), read_predictions(gold)
    labels = read_labels(propara / "sentence-labels", gold_grids)
    scores = score_document(predicted_grids, gold_grids)
    for name, run in (
        ("document level", lambda: score_document(predicted_grids, gold_grids)),
        ("sentence level", lambda: score_sentence(predicted_grids, gold_grids, labels)),
        ("10,000 bootstrap samples", lambda: compare_documents(scores, scores)),
    ):
        median = statistics.median(measure(run) for _ in range(RUNS))
        print(f"{name:27} {1000 * median:8.1f} ms  ({median / median_bare:.1f}x)")


if __name__ == "__main__":
    main()
