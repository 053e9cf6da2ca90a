"""What the words around a place say of who is there: finds the weights of `koala.hints`.

    KOALA_DATA=… python benchmarks/hints.py runs/folds/NAME-seed0-fold1of3 …fold2of3 …fold3of3

The runs are those of `koala ablate --folds`, of one or several settings: each has scored procedures
that it had not learned from. The weights are found under which the true places of train are the
most probable (maximum likelihood with a penalty on squares; Newton's method).

Writes the weights, and a table: the surprise at gold places and the document score of grids by the
expected score without hints, and with weights that were found on other procedures (five parts).
"""

import argparse
from pathlib import Path

import numpy as np
from coherence import N_PARTS, Read, decode, find_weights, hint, print_scores, read_runs

from koala.batch import IGNORED, build_gold
from koala.decoding.output import log_softmax
from koala.grid import Grid
from koala.hints import WEIGHTS, describe_places

Cells = list[tuple[np.ndarray, int]]


def describe(read: Read) -> Cells:
    """Describe the candidates of every gold place, (candidates, 1 + weights): what the network
    says, and hints; with the number of the true one.
    """
    cells = []
    for item, index in zip(read.items, read.indices, strict=True):
        said = log_softmax(read.output.place_scores(index))[:, :, None]
        features = np.concatenate([said, describe_places(item.procedure, item.entity)], axis=2)
        gold = build_gold([item]).places[0]
        cells += [(features[t], place) for t, place in enumerate(gold) if place != IGNORED]
    return cells


def find(cells: Cells) -> np.ndarray:
    return find_weights(
        np.array([features[place] for features, place in cells]), [each[0] for each in cells]
    )


def measure(theta: np.ndarray, cells: Cells) -> list[float]:
    """Give the surprise at each gold place."""
    return [-float(log_softmax(features @ theta)[place]) for features, place in cells]


def decode_with(read: Read, theta: np.ndarray | None) -> Grid:
    if theta is None:
        return decode(read)
    weights = dict(zip(WEIGHTS, theta[1:].tolist(), strict=True))
    return decode(hint(read, weights, float(theta[0])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    reads = read_runs(parser.parse_args().runs)
    cells = [describe(read) for read in reads]

    def find_where(chosen: list[bool]) -> np.ndarray:
        return find([cell for own, keep in zip(cells, chosen, strict=True) if keep for cell in own])

    said, *weights = find_where([read.is_train for read in reads])
    print(f"| what is described | weight |\n|---|---:|\n| *network* | {said:.2f} |")
    for name, weight in zip(WEIGHTS, weights, strict=True):
        print(f"| {name} | {weight:+.2f} |")
    parts = [find_where([read.part != part for read in reads]) for part in range(N_PARTS)]
    alone = np.eye(1 + len(WEIGHTS))[0]
    for network in dict.fromkeys(read.network for read in reads):
        own = [pair for pair in zip(reads, cells, strict=True) if pair[0].network == network]
        before = np.mean([value for _, each in own for value in measure(alone, each)])
        after = np.mean([value for read, each in own for value in measure(parts[read.part], each)])
        print(f"\n{network}: surprise at gold places {before:.3f}, with hints {after:.3f}.\n")
    without = [(read, None) for read in reads]
    hinted = [(read, parts[read.part]) for read in reads]
    print_scores({"without hints": without, "with hints": hinted}, decode_with)


if __name__ == "__main__":
    main()
