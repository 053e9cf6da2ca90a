"""How the lives of several entities go together: finds the weights of `koala.consensus.coherence`.

    KOALA_DATA=… python benchmarks/coherence.py runs/folds/NAME-seed0-fold1of3 …fold2of3 …fold3of3

The runs are those of `koala ablate --folds`, of one or several settings: each has scored procedures
that it had not learned from. Grids of these are drawn, and the weights are found under which the
true ones of train are the most probable beside the drawn ones (maximum likelihood with a penalty on
squares; Newton's method).

Writes the weights, and a table: how probable truth becomes, and the document score of grids by the
expected score without weights, and with weights that were found on other procedures (five parts),
of which half counts, as always when grids are chosen.
"""

import argparse
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from koala import hints
from koala.consensus.coherence import WEIGHTS, describe
from koala.consensus.document import choose_lives
from koala.corpora import read_corpus
from koala.corpora.corpus import build_fold
from koala.decoding import Output, decode_rows
from koala.decoding.sampling import sample_lives
from koala.decoding.together import NOWHERE, SOMEWHERE
from koala.evaluation import compare_documents, score
from koala.grid import Grid
from koala.items import Item
from koala.prediction import Reader, name_places, score_items
from koala.states import ABSENT, UNKNOWN
from koala.training.checkpoint import open_checkpoint
from koala.training.loop import build_batcher
from koala.training.report import read_report
from koala.training.run import DataSource

N_DRAWN, N_PARTS, PENALTY = 2000, 5, 1.0
NONE = dict.fromkeys(WEIGHTS, 0.0)


@dataclass(frozen=True, slots=True)
class Read:
    """What a network that has not learned from it says of a procedure."""

    network: str
    gold: Grid
    output: Output
    indices: tuple[int, ...]
    items: tuple[Item, ...]
    is_train: bool

    @property
    def names(self) -> tuple[str, ...]:
        return name_places(self.items[0])

    @property
    def part(self) -> int:
        return zlib.crc32(self.gold.id.encode()) % N_PARTS


def read_runs(runs: list[Path]) -> list[Read]:
    corpus = read_corpus(Path(os.environ["KOALA_DATA"], "propara"))
    train = {example.procedure.id for example in corpus.splits["train"]}
    found = []
    for run in runs:
        number, total = run.name.split("-fold")[1].split("of")
        model, settings = open_checkpoint(run)
        data = DataSource(build_fold(corpus, int(number), int(total))).get(settings)
        temperatures = read_report(run).temperatures
        scored = score_items(Reader(model.predict, build_batcher(settings)), data.dev)
        for _, group in groupby(scored, key=lambda one: id(one[0].procedure)):
            items, outputs, indices = zip(*group, strict=True)
            if [item.entity for item in items] != list(range(len(items))):
                raise ValueError("entities are not in their order")
            id_ = items[0].procedure.id
            cooled = outputs[0].cool(*temperatures)
            name = run.name.split("-seed")[0]
            gold = data.dev_gold[id_]
            found.append(Read(name, gold, cooled, indices, items, id_ in train))
    return found


def hint(
    read: Read, weights: Mapping[str, float] = hints.WEIGHTS, network: float = hints.NETWORK
) -> Read:
    """Correct places by the words around them, as is done before grids are drawn."""
    procedure, entities = read.items[0].procedure, [item.entity for item in read.items]
    output = hints.add_hints(
        read.output, procedure, entities, read.indices, reranker=hints.Reranker(network, weights)
    )
    return replace(read, output=output)


def number_places(grid: Grid) -> np.ndarray:
    """Give the places of a true grid as numbers: (1, entities, steps + 1)."""
    numbers = {ABSENT: NOWHERE, UNKNOWN: SOMEWHERE}
    rows = [[numbers.setdefault(p, len(numbers)) for p in row.locations] for row in grid.rows]
    return np.array([rows])


def draw(read: Read) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(read.gold.id.encode()))
    lives = [sample_lives(read.output, index, N_DRAWN, rng) for index in read.indices]
    return describe(np.stack(lives, axis=1))


def find_weights(true: np.ndarray, drawn: list[np.ndarray]) -> np.ndarray:
    """Maximize Σ θ·f(truth) − log mean exp θ·f(drawn) − penalty · |θ|²."""
    theta = np.zeros(true.shape[1])
    for _ in range(30):
        gradient = -2 * PENALTY * theta
        curvature = 2 * PENALTY * np.eye(len(theta))
        for own, features in zip(true, drawn, strict=True):
            shares = np.exp(features @ theta - (features @ theta).max())
            shares /= shares.sum()
            mean = shares @ features
            gradient += own - mean
            centred = features - mean
            curvature += centred.T @ (shares[:, None] * centred)
        step = np.linalg.solve(curvature, gradient)
        theta += step * min(1.0, 2.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-4:
            break
    return theta


def measure_gain(theta: np.ndarray, own: np.ndarray, features: np.ndarray) -> float:
    """Give how much more probable truth becomes, in nats; by all of the weights."""
    return float(own @ theta - np.logaddexp.reduce(features @ theta) + np.log(len(features)))


def decode(read: Read, weights: Mapping[str, float] = WEIGHTS) -> Grid:
    names = [row.name for row in read.gold.rows]
    likeliest = decode_rows(read.output, read.indices, names, read.names, decoding="legal")
    rows = choose_lives(read.output, read.indices, likeliest, read.names, weights=weights)
    return Grid(read.gold.id, read.gold.steps, tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    reads = [hint(read) for read in read_runs(parser.parse_args().runs)]
    true = np.concatenate([describe(number_places(read.gold)) for read in reads])
    drawn = [draw(read) for read in reads]
    is_train = np.array([read.is_train for read in reads])
    parts = np.array([read.part for read in reads])

    def find(chosen: np.ndarray) -> dict[str, float]:
        numbers = np.flatnonzero(chosen)
        found = find_weights(true[numbers], [drawn[n] for n in numbers])
        return dict(zip(WEIGHTS, found.tolist(), strict=True))

    weights = find(is_train)
    print("| what is counted | weight | true grids | drawn grids |\n|---|---:|---:|---:|")
    means = true.mean(0), np.mean([features.mean(0) for features in drawn], axis=0)
    for (name, weight), gold, own in zip(weights.items(), *means, strict=True):
        print(f"| {name} | {weight:+.2f} | {gold:.2f} | {own:.2f} |")
    others = [find(parts != part) for part in range(N_PARTS)]
    gains = [
        measure_gain(np.array(list(others[part].values())), own, features)
        for part, own, features in zip(parts, true, drawn, strict=True)
    ]
    print(f"\nTruth is more probable by {np.mean(gains):.2f} nats a procedure ({len(reads)}).\n")
    alone = [(read, NONE) for read in reads]
    together = [(read, others[read.part]) for read in reads]
    print_scores({"lives alone": alone, "lives that go together": together}, decode)


def print_scores(
    ways: Mapping[str, Sequence[tuple[Read, Any]]], decode: Callable[[Read, Any], Grid]
) -> None:
    """Print what two ways to decode score, for each network, and how the second differs."""
    print("| | | P | R | F1 | difference, 95 % | predicted |\n|---|---|---:|---:|---:|---|---|")
    with ProcessPoolExecutor() as pool:
        for network in dict.fromkeys(read.network for read, _ in next(iter(ways.values()))):
            first = None
            for way, jobs in ways.items():
                own = [job for job in jobs if job[0].network == network]
                grids = pool.map(decode, *zip(*own, strict=True), chunksize=8)
                found = score(list(grids), {read.gold.id: read.gold for read, _ in own})
                overall = found.overall
                figures = (overall.precision, overall.recall, overall.f1)
                cells = [network, way, *(f"{100 * figure:.1f}" for figure in figures), ""]
                if first is not None:
                    compared = compare_documents(found, first)
                    interval = f"{100 * compared.low:+.1f} to {100 * compared.high:+.1f}"
                    cells[-1] = f"{100 * compared.f1_difference:+.1f} ({interval})"
                first = first or found
                print(f"| {' | '.join(cells)} | `{found.signature}` |", flush=True)


if __name__ == "__main__":
    main()
