"""Learning curve: ProPara's train split with more and more procedures of koala's own corpus.

    python benchmarks/learning_curve.py --data propara/ --written corpus/ -o curve.jsonl

Each row trains the network of configs/models/learning-curve.toml from scratch and scores it on the
dev splits of ProPara (document F1 by Viterbi and MBR, NLL) and of the corpus (changes, NLL).
Temperatures are fitted on each dev split. Rows that the output file already has are skipped.
"""

import argparse
import json
import random
import time
from dataclasses import replace
from pathlib import Path

from koala.corpora import Corpus, Example, read_corpus
from koala.document import CONVENTIONS
from koala.evaluation import score_document
from koala.evaluation.changes import score_changes
from koala.inference.calibration import read_calibration
from koala.inference.predict import decode_grids
from koala.inference.scoring import score_all
from koala.settings import Settings, read_settings
from koala.training.calibration import find_temperatures, measure_nll
from koala.training.data import TrainingData, build_training_data
from koala.training.loop import Training

ROWS = ("0", "250", "500", "1000", "2000", "all", "science", "other fields")

CONFIGS = Path(__file__).parents[1] / "configs" / "models"
CALIBRATION = CONFIGS / "calibration.json"
"""Location reranker of ProPara's annotation convention, and consistency weights."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, default=Path("corpus"))
    parser.add_argument("--rows", nargs="+", default=ROWS, choices=ROWS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    propara, written = read_corpus(given.data), read_corpus(given.written)
    path = CONFIGS / "learning-curve.toml"
    base = read_settings(path)
    settings = replace(base, training=replace(base.training, seed=given.seed))
    known = given.output.read_text().splitlines() if given.output.is_file() else []
    done = {(row["row"], row["seed"]) for row in map(json.loads, known)}
    for name in given.rows:
        if (name, given.seed) in done:
            continue
        result = run_row(name, settings, propara, written, given)
        with given.output.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result), flush=True)


def choose(examples: tuple[Example, ...], name: str) -> list[Example]:
    """Give the procedures of a row; every larger row contains those of the smaller ones."""
    if name == "science":
        return [e for e in examples if e.procedure.id.startswith("science")]
    if name == "other fields":
        return [e for e in examples if not e.procedure.id.startswith("science")]
    ordered = list(examples)
    random.Random(0).shuffle(ordered)
    return ordered if name == "all" else ordered[: int(name)]


def run_row(
    name: str, settings: Settings, propara: Corpus, written: Corpus, given: argparse.Namespace
) -> dict[str, object]:
    extra = choose(written.take("train"), name)
    start = time.perf_counter()
    data = build_training_data(propara, settings, extra=extra)
    folder = given.output.parent / f"curve-{name.replace(' ', '-')}-seed{given.seed}"
    training = Training(settings, data, folder, layers_folder=given.layers)
    training.run()
    plain = replace(settings, training=replace(settings.training, annotators=0.0))
    dev = replace(written, splits={"train": written.take("dev")[:1], "dev": written.take("dev")})
    with training.averaged():
        own = measure(training, data, has_mbr=True)
        other = measure(training, build_training_data(dev, plain), has_mbr=False)
    return {
        "row": name,
        "seed": given.seed,
        "procedures": len(extra),
        "propara_dev": own,
        "corpus_dev": other,
        "seconds": round(time.perf_counter() - start),
    }


def measure(training: Training, data: TrainingData, *, has_mbr: bool) -> dict[str, object]:
    scored = score_all(training.scorer, data.dev)
    temperatures = find_temperatures(scored)
    calibration = replace(
        read_calibration(CALIBRATION), temperatures=dict.fromkeys(CONVENTIONS, temperatures)
    )
    tags, locations = measure_nll(scored, temperatures)
    found: dict[str, object] = {"nll_tags": round(tags, 3), "nll_locations": round(locations, 3)}
    for name in ("viterbi", "mbr") if has_mbr else ("viterbi",):
        grids = decode_grids(scored, decoding=name, calibration=calibration)
        by_id = {grid.id: grid for grid in grids}
        document = score_document(by_id, data.dev_gold)
        found[name] = {"document_f1": round(document.overall.f1, 3), "sig": document.signature}
        if not has_mbr:
            changes = score_changes(by_id, data.dev_gold).overall
            found["changes_f1"] = round(changes.actions.f1, 3)
            found["changes_with_location_f1"] = round(changes.located.f1, 3)
            found["cells"] = round(changes.cells, 3)
    return found


if __name__ == "__main__":
    main()
