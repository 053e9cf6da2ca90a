"""What averaging networks gives, by cross-validation: grids by the expected score.

    KOALA_DATA=… python benchmarks/averaging.py runs/folds tracker-minilm small-plain small-gate

The runs are those of `koala ablate --folds 3`, called as their settings. Each network scores the
fold that it has not learned from, by itself and together with the others of the fold; averages are
decoded under the mean of their members' temperatures, which is what `koala predict` does, and under
temperatures that are found for the average. All temperatures are found on the fold, as in reports.
"""

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from koala.corpora import read_corpus
from koala.corpora.corpus import build_fold
from koala.evaluation import DocumentScores, compare_documents, score
from koala.grid import Grid
from koala.items import Item
from koala.prediction import Ensemble, Reader, Scored, Temperatures, decode_grids, score_items
from koala.settings import DecoderSettings
from koala.training.calibration import find_temperatures, measure_surprise
from koala.training.checkpoint import open_checkpoint
from koala.training.loop import build_batcher
from koala.training.run import DataSource

N_FOLDS = 3
MEAN, OWN = "average, temperatures of its members", "average, temperatures of its own"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", nargs="+", metavar="ROW")
    arguments = parser.parse_args()
    corpus = read_corpus(Path(os.environ["KOALA_DATA"], "propara"))
    ways = (*arguments.rows, MEAN, OWN)
    grids: dict[str, list[Grid]] = {way: [] for way in ways}
    surprise: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    gold = {}
    for number in range(1, N_FOLDS + 1):
        runs = [arguments.folder / f"{row}-seed0-fold{number}of{N_FOLDS}" for row in arguments.rows]
        opened = [open_checkpoint(run) for run in runs]
        if len({(own.corpus, own.text, own.decoder.tags) for _, own in opened}) > 1:
            parser.error("these networks read texts differently; they cannot be averaged.")
        known = next((own for _, own in opened if own.knowledge.is_used), opened[0][1])
        data = DataSource(build_fold(corpus, number, N_FOLDS)).get(known)
        readers = [Reader(model.predict, build_batcher(own)) for model, own in opened]
        scored = {
            row: list(score_items(reader, data.dev))
            for row, reader in zip(arguments.rows, readers, strict=True)
        }
        temperatures = {row: find_temperatures(found) for row, found in scored.items()}
        scored[MEAN] = scored[OWN] = list(score_items(Ensemble(tuple(readers)), data.dev))
        tags, places = np.mean(list(temperatures.values()), axis=0).tolist()
        temperatures |= {MEAN: (tags, places), OWN: find_temperatures(scored[OWN])}
        decode = partial(
            decode_way, data.dev, replace(known.decoder, decoding="expected"), scored, temperatures
        )
        with ProcessPoolExecutor() as pool:
            for way, found in zip(ways, pool.map(decode, ways), strict=True):
                grids[way] += found
        for way in ways:
            own = temperatures[way]
            surprise[way].append(measure_surprise(scored[way], own))
            print(f"fold {number}, {way}: temperatures {own[0]:.2f}, {own[1]:.2f}", flush=True)
        gold |= data.dev_gold
    scores = {way: score(found, gold) for way, found in grids.items()}
    print("\n| | P | R | F1 | against the first, 95 % | surprise: tags | places | predicted |")
    print("|---|---:|---:|---:|---|---:|---:|---|")
    for way in ways:
        print(render_row(way, scores[way], scores[ways[0]], np.mean(surprise[way], axis=0)))


def decode_way(
    items: Sequence[Item],
    settings: DecoderSettings,
    scored: dict[str, list[Scored]],
    temperatures: dict[str, Temperatures],
    way: str,
) -> list[Grid]:
    return decode_grids(items, scored[way], settings=settings, temperatures=temperatures[way])


def render_row(way: str, own: DocumentScores, first: DocumentScores, surprise: np.ndarray) -> str:
    overall = own.overall
    cells = [way, *(f"{100 * v:.1f}" for v in (overall.precision, overall.recall, overall.f1))]
    found = compare_documents(own, first)
    interval = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    cells.append(f"{100 * found.f1_difference:+.1f} ({interval})" if own is not first else "")
    cells += [f"{value:.3f}" for value in surprise]
    return f"| {' | '.join([*cells, f'`{own.signature}`'])} |"


if __name__ == "__main__":
    main()
