"""What averaging networks gives, by cross-validation: grids by the expected score.

    KOALA_DATA=… python benchmarks/averaging.py runs/folds mpnet-gate mpnet-gate+entity-prefix

The runs are those of `koala ablate --folds 3`, called as their settings. Each network scores the
fold that it has not learned from. Averages (names joined by +) come in three ways: of scores as
they are, under the mean of their members' temperatures; of scores that their members' temperatures
have cooled, as `koala predict` averages; and of those, under temperatures found for the average.
All temperatures are found on the fold, as in reports. `--decoding legal`: the most probable lives.
"""

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from koala.corpora import Corpus, read_corpus
from koala.corpora.corpus import build_fold
from koala.decoding import Output, average_outputs
from koala.evaluation import DocumentScores, compare_documents, score
from koala.grid import Grid
from koala.items import Item
from koala.prediction import Reader, Scored, Temperatures, decode_grids, score_items
from koala.settings import DecoderSettings
from koala.training.calibration import find_temperatures, measure_surprise
from koala.training.checkpoint import open_checkpoint
from koala.training.loop import build_batcher
from koala.training.run import DataSource

N_FOLDS = 3
Way = tuple[list[Scored], Temperatures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", nargs="+", metavar="ROW[+ROW…]")
    parser.add_argument("--fold", type=int, action="append", choices=range(1, N_FOLDS + 1))
    parser.add_argument("--decoding", default="expected", choices=("expected", "legal"))
    arguments = parser.parse_args()
    corpus = read_corpus(Path(os.environ["KOALA_DATA"], "propara"))
    grids: dict[str, list[Grid]] = {}
    surprise: dict[str, list[tuple[float, float]]] = {}
    gold = {}
    for number in arguments.fold or range(1, N_FOLDS + 1):
        items, decoder, ways, own_gold = read_fold(corpus, arguments.folder, arguments.rows, number)
        gold |= own_gold
        decoder = replace(decoder, decoding=arguments.decoding, has_hints=True)
        with ProcessPoolExecutor() as pool:
            decoded = pool.map(partial(decode, items, decoder), ways.values())
            for (way, (scored, own)), found in zip(ways.items(), decoded, strict=True):
                grids.setdefault(way, []).extend(found)
                surprise.setdefault(way, []).append(measure_surprise(scored, own))
                print(f"fold {number}, {way}: temperatures {own[0]:.2f}, {own[1]:.2f}", flush=True)
    scores = {way: score(found, gold) for way, found in grids.items()}
    first = next(iter(scores.values()))
    print(
        f"\n| {len(gold)} procedures | P | R | F1 | against the first, 95 % | surprise: tags ",
        end="",
    )
    print("| places | predicted |\n|---|---:|---:|---:|---|---:|---:|---|")
    for way, own_scores in scores.items():
        print(render_row(way, own_scores, first, np.mean(surprise[way], axis=0)))


def read_fold(
    corpus: Corpus, folder: Path, rows: Sequence[str], number: int
) -> tuple[Sequence[Item], DecoderSettings, dict[str, Way], dict[str, Grid]]:
    """Score a fold by every network, and average."""
    names = list(dict.fromkeys(name for row in rows for name in row.split("+")))
    runs = [folder / f"{name}-seed0-fold{number}of{N_FOLDS}" for name in names]
    opened = [open_checkpoint(run) for run in runs]
    if len({(own.corpus, own.text, own.decoder.tags) for _, own in opened}) > 1:
        raise SystemExit("These networks read texts differently; they cannot be averaged.")
    known = next((own for _, own in opened if own.knowledge.is_used), opened[0][1])
    data = DataSource(build_fold(corpus, number, N_FOLDS)).get(known)
    single: dict[str, Way] = {}
    for name, (model, own) in zip(names, opened, strict=True):
        scored = list(score_items(Reader(model.predict, build_batcher(own)), data.dev))
        single[name] = scored, find_temperatures(scored)
    ways: dict[str, Way] = {}
    for row in rows:
        members = [single[name] for name in row.split("+")]
        if len(members) == 1:
            ways[row] = members[0]
            continue
        tags, places = np.mean([own for _, own in members], axis=0).tolist()
        ways[f"{row}: as they are"] = average([each for each, _ in members]), (tags, places)
        cooled = average([cool(*member) for member in members])
        ways[f"{row}: cooled"] = cooled, (1.0, 1.0)
        ways[f"{row}: cooled, temperatures found"] = cooled, find_temperatures(cooled)
    return data.dev, known.decoder, ways, data.dev_gold


def cool(scored: Sequence[Scored], temperatures: Temperatures) -> list[Scored]:
    """Cool each output once; the entities of a batch share one."""
    known = {id(output): output.cool(*temperatures) for _, output, _ in scored}
    return [(item, known[id(output)], index) for item, output, index in scored]


def average(members: Sequence[Sequence[Scored]]) -> list[Scored]:
    """Average what was said of the same entities, which come in the same order."""
    known: dict[int, Output] = {}
    found = []
    for same in zip(*members, strict=True):
        item, output, index = same[0]
        if id(output) not in known:
            known[id(output)] = average_outputs([each for _, each, _ in same])
        found.append((item, known[id(output)], index))
    return found


def decode(items: Sequence[Item], settings: DecoderSettings, way: Way) -> list[Grid]:
    return decode_grids(items, way[0], settings=settings, temperatures=way[1])


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
