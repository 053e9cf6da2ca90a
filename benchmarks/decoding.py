"""Legal decoding, repair rules, joint decoding and the expected score, of the same scores.

    KOALA_DATA=… python benchmarks/decoding.py RUN [RUN …]

Each run is the folder of a training, on ProPara or on Recipes with tags of changes; all on the same
one. Its network scores dev once; what it said is decoded in several ways, by the expected score
under temperatures that are found on dev. Writes a Markdown table: P, R, F1 of documents or of
changes of place, the grids that differ from legal ones, and seconds of decoding.
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

from koala.corpora import read_corpus
from koala.evaluation import score_corpus
from koala.prediction import Reader, decode_grids, score_items
from koala.training.calibration import find_temperatures
from koala.training.checkpoint import BEST, open_checkpoint, read_settings_of
from koala.training.loop import build_batcher
from koala.training.run import DataSource

WAYS = {
    "propara": ("legal", "repair", "joint", "expected"),
    "recipes": ("legal", "places", "joint"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    runs = parser.parse_args().runs
    corpora = {read_settings_of(run / BEST)[0].corpus for run in runs}
    if len(corpora) > 1:
        parser.error("runs on ProPara and on Recipes: give one kind at a time.")
    corpus = corpora.pop()
    source = DataSource(read_corpus(Path(os.environ["KOALA_DATA"], corpus)))
    print("| run | decoding | P | R | F1 | grids other than legal | seconds | signature |")
    print("|---|---|---:|---:|---:|---:|---:|---|")
    for run in runs:
        model, settings = open_checkpoint(run)
        data = source.get(settings)
        scored = list(score_items(Reader(model.predict, build_batcher(settings)), data.dev))
        temperatures = find_temperatures(scored)
        legal = None
        for way in WAYS[corpus]:
            decoder = replace(settings.decoder, decoding=way)
            start = time.perf_counter()
            grids = decode_grids(data.dev, scored, settings=decoder, temperatures=temperatures)
            seconds = time.perf_counter() - start
            legal = legal or grids
            scores = score_corpus(corpus, grids, data.dev_gold)
            overall = scores.overall
            figures = (overall.precision, overall.recall, overall.f1)
            n_other = sum(
                ours.to_tsv() != other.to_tsv() for ours, other in zip(grids, legal, strict=True)
            )
            cells = [run.name, way, *(f"{100 * figure:.1f}" for figure in figures), str(n_other)]
            cells.append(f"{seconds:.1f}")
            print(f"| {' | '.join(cells)} | `{scores.signature}` |", flush=True)


if __name__ == "__main__":
    main()
