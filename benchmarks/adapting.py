"""Learning curve of `koala adapt`: corrected procedures of a field that the network has not seen.

The network must not have seen the field, so it is trained without it first. The first stage is
enough, because the second one teaches ProPara's annotation convention:

    koala train configs/models/small-corpus.toml --data corpus/ --without-field wet-lab \\
        -o runs/without-wet-lab
    python benchmarks/adapting.py --from runs/without-wet-lab --field wet-lab -o results/runs

Adapts the heads to 0, 5, 10, 20 and 40 procedures of the field's train split, a larger number
containing the smaller ones; rehearses the train splits of the other fields; and scores the field's
dev and test splits with the rest of its train split, and the dev splits of the other fields. Each
row runs in a process of its own, so that its peak memory is known. Rows whose file is there already
are skipped.
"""

import argparse
import datetime
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from record_scores import read_commit

from koala.corpora import Corpus, Example, read_corpus
from koala.corpora.written import read_file
from koala.evaluation.changes import score_changes
from koala.files import write_text
from koala.inference.predict import decode_grids
from koala.inference.scoring import score_all
from koala.registry import find_bundled
from koala.training.adaptable import Adaptable, find_adaptable
from koala.training.adaptation import (
    Adaptation,
    AdaptationSettings,
    Measure,
    build_scorer,
    choose_rehearsal,
    freeze_heads,
    measure,
)
from koala.training.data import TrainingData, build_training_data
from koala.training.loop import build_batcher

NUMBERS = (0, 5, 10, 20, 40)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every row that is missing, each in its own process; with --row, run one here."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--from", dest="source", required=True, help="run or model")
    parser.add_argument("--field", default="wet-lab")
    parser.add_argument("--written", type=Path, default=Path("corpus"))
    parser.add_argument("--numbers", type=int, nargs="+", default=NUMBERS)
    parser.add_argument("--epochs", type=int, default=AdaptationSettings().epochs)
    parser.add_argument("--rate", type=float, default=AdaptationSettings().learning_rate)
    parser.add_argument("--share", type=float, default=AdaptationSettings().rehearsed)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, help="procedures to score on; default: all")
    parser.add_argument("--row", type=int, help="run only this row, in this process")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the JSON files")
    given = parser.parse_args(arguments)
    given.output.mkdir(parents=True, exist_ok=True)
    if given.row is not None:
        run_row(given.row, given)
        return
    words = list(arguments if arguments is not None else sys.argv[1:])
    for n in given.numbers:
        if _name_file(n, given).is_file():
            print(f"{n} procedures: already measured.", file=sys.stderr)
            continue
        print(f"{n} procedures …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, __file__, *words, "--row", str(n)], check=True)


def _name_file(n: int, given: argparse.Namespace) -> Path:
    name = f"adapting-{given.field}-{n:02}-seed{given.seed}.json"
    return Path(given.output, name)


def split_field(
    written: Path, field: str, most: int, seed: int
) -> tuple[list[Example], list[Example], Corpus]:
    """Give the procedures to correct, those to score on, and the corpus without the field."""
    train, dev, test = (
        [each.example for each in read_file(written / split / f"{field}.txt")]
        for split in ("train", "dev", "test")
    )
    random.Random(seed).shuffle(train)
    whole = read_corpus(written)
    others = {
        split: tuple(e for e in whole.take(split) if not e.procedure.id.startswith(f"{field}/"))
        for split in ("train", "dev")
    }
    return train[:most], [*dev, *test, *train[most:]], replace(whole, splits=others)


def run_row(n: int, given: argparse.Namespace) -> None:
    """Adapt to `n` procedures, score, and write the run."""
    most = max(NUMBERS)
    corrected, scored_on, others = split_field(given.written, given.field, most, given.seed)
    scored_on = scored_on[: given.most]
    source = find_adaptable(find_bundled(given.source) or Path(given.source))
    how = AdaptationSettings(
        epochs=given.epochs, learning_rate=given.rate, rehearsed=given.share, seed=given.seed
    )
    start = time.perf_counter()
    # Without corrections the network stays as it is; the data is needed to open it.
    examples = choose_rehearsal(corrected[: max(n, 1)], [others], most_dev=given.most or 60)
    adaptation = Adaptation(source.settings, source.calibration, examples, how=how)
    models = source.open(adaptation.batcher, adaptation.data.train)
    freeze_heads(models)
    begun = time.perf_counter()
    if n:
        with tempfile.TemporaryDirectory(prefix="koala-") as work:
            adaptation.fit(models, Path(work))
    fitted = time.perf_counter()
    scorer = build_scorer(models, build_batcher(adaptation.settings))
    field = build_scored(scored_on, adaptation)
    own = score_all(scorer, field.dev)
    ids = {e.procedure.id for e in examples.rehearsed_dev}
    kept = score_all(scorer, [i for i in adaptation.data.dev if i.procedure.id in ids])
    grids = decode_grids(own, calibration=source.calibration)
    signature = score_changes({grid.id: grid for grid in grids}, field.dev_gold).signature
    scores = {
        "procedures": n,
        **_name(measure(own, field.dev_gold, source.calibration), "field"),
        **_name(measure(kept, adaptation.data.dev_gold, source.calibration), "others"),
        "seconds": round(fitted - begun, 1),
        "preparing_seconds": round(begun - start, 1),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    write_run(_name_file(n, given), n, scores, signature, source, given)
    print(json.dumps(scores))


def build_scored(examples: Sequence[Example], adaptation: Adaptation) -> TrainingData:
    """Build the items of procedures that are only scored; gold adds no candidates to them."""
    corpus = Corpus("scored", {"train": tuple(examples[:1]), "dev": tuple(examples)})
    return build_training_data(corpus, adaptation.settings)


def _name(found: Measure, prefix: str) -> dict[str, float]:
    return {
        f"{prefix}_procedures": found.procedures,
        f"{prefix}_changes": round(100 * found.changes, 2),
        f"{prefix}_located": round(100 * found.located, 2),
        f"{prefix}_cells": round(100 * found.cells, 2),
        f"{prefix}_nll": round(found.nll, 3),
    }


def write_run(
    path: Path,
    n: int,
    scores: dict[str, float],
    signature: str,
    source: Adaptable,
    given: argparse.Namespace,
) -> None:
    """Write a row in the form of the other runs."""
    run = {
        "name": path.stem,
        "group": "adapting",
        "order": n,
        "model": source.name,
        "field": given.field,
        "held_out": "yes"
        if given.field in source.settings.training.without_fields.split()
        else "no",
        "settings": f"epochs {given.epochs}, rate {given.rate}, rehearsed {given.share}",
        "commit": read_commit(),
        "seed": given.seed,
        "decoding": "Viterbi",
        "signature": signature,
        "scores": scores,
        "command": [
            f"python benchmarks/adapting.py --from {given.source} --field {given.field} "
            "-o results/runs"
        ],
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "status": "trained",
    }
    write_text(path, json.dumps(run, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
