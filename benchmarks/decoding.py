"""Legal decoding against repair rules against joint decoding, of the same scores.

    KOALA_DATA=… python benchmarks/decoding.py RUN [RUN …]

Each run is the folder of a ProPara training. Its network scores dev once; what it said is decoded
in every way. Writes a Markdown table: document P, R, F1 and the grids that differ from legal ones.
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from koala.corpora import read_corpus
from koala.evaluation import score_corpus
from koala.prediction import Reader, decode_grids, score_items
from koala.training.checkpoint import open_checkpoint
from koala.training.loop import build_batcher
from koala.training.run import DataSource

WAYS = ("legal", "repair", "joint")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    runs = parser.parse_args().runs
    source = DataSource(read_corpus(Path(os.environ["KOALA_DATA"], "propara")))
    print("| run | decoding | P | R | F1 | grids other than legal | signature |")
    print("|---|---|---:|---:|---:|---:|---|")
    for run in runs:
        model, settings = open_checkpoint(run)
        data = source.get(settings)
        scored = list(score_items(Reader(model.predict, build_batcher(settings)), data.dev))
        legal = None
        for way in WAYS:
            decoder = replace(settings.decoder, decoding=way)
            grids = decode_grids(data.dev, scored, settings=decoder)
            legal = legal or grids
            scores = score_corpus("propara", grids, data.dev_gold)
            overall = scores.overall
            figures = (overall.precision, overall.recall, overall.f1)
            n_other = sum(ours != theirs for ours, theirs in zip(grids, legal, strict=True))
            cells = [run.name, way, *(f"{100 * figure:.1f}" for figure in figures), str(n_other)]
            print(f"| {' | '.join(cells)} | `{scores.signature}` |", flush=True)


if __name__ == "__main__":
    main()
