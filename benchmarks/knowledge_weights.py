"""Estimate ConceptNet's weights from evidence: fit the table of koala.knowledge.weights.

    KOALA_DATA=… python benchmarks/knowledge_weights.py [--json]

Assertions with a real weight are fitted, without RelatedTo (see koala.knowledge.weights) and
without those that only the published retrieval holds. The error is that of five folds by pairs of
concepts: each fold is estimated by a table fitted on the other four. *Ordered* is the share of
pairs of assertions with different weights whose estimates differ in the same direction; *tied* is
the share whose estimates are equal.
"""

import argparse
import csv
import gzip
import json
import math
import os
import random
import zlib
from collections import defaultdict
from pathlib import Path

from koala.knowledge.weights import MOST_VOTES, WITH_WORDNET, WITHOUT_WORDNET

N_FOLDS = 5
N_PAIRS = 200_000
LEAST_ROWS = 10  # a cell with fewer rows takes the mean of its number of votes


def read_rows(path):
    """Read the assertions with real weights: fold, WordNet, votes, relation and weight."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if not row["real_cn5_weight"] or row["sources"] == "koala":
                continue
            if row["relation"] == "RelatedTo":
                continue
            concepts = "\t".join(sorted((row["head"], row["tail"])))
            fold = zlib.crc32(concepts.encode()) % N_FOLDS
            votes = min(int(float(row["cn4_votes"] or 0)), MOST_VOTES)
            wordnet = row["in_wordnet31"] == "1"
            yield fold, wordnet, votes, row["relation"], float(row["real_cn5_weight"])


def mean(values):
    """Give the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def fit_table(rows):
    """Give the mean weight by WordNet and votes."""
    cells, columns = defaultdict(list), defaultdict(list)
    for _, wordnet, votes, _, weight in rows:
        cells[wordnet, votes].append(weight)
        columns[votes].append(weight)
    table = {}
    for wordnet in (False, True):
        for votes in range(MOST_VOTES + 1):
            cell = cells[wordnet, votes]
            table[wordnet, votes] = round(
                mean(cell if len(cell) >= LEAST_ROWS else columns[votes]), 2
            )
    return table


def estimate_constant(_wordnet, _votes):
    return 1.0


def estimate_in_steps(wordnet, votes):
    """Give the estimate that the table replaces: WordNet 2, else by votes 1, 1.5 or 2.828."""
    if wordnet:
        return 2.0
    return 1.0 if votes <= 1 else 1.5 if votes <= 2 else 2.828


def measure(rows, estimates):
    """Compare estimates with the real weights."""
    weights = [row[-1] for row in rows]
    errors = [estimate - weight for estimate, weight in zip(estimates, weights, strict=True)]
    choose = random.Random(0)
    n_ordered = n_tied = n_pairs = 0
    while n_pairs < N_PAIRS:
        one, other = choose.randrange(len(rows)), choose.randrange(len(rows))
        if weights[one] == weights[other]:
            continue
        n_pairs += 1
        n_tied += estimates[one] == estimates[other]
        n_ordered += (weights[one] - weights[other]) * (estimates[one] - estimates[other]) > 0
    return {
        "mean_error": sum(map(abs, errors)) / len(errors),
        "root_mean_square": math.sqrt(sum(error**2 for error in errors) / len(errors)),
        "ordered": 100 * n_ordered / n_pairs,
        "tied": 100 * n_tied / n_pairs,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ["KOALA_DATA"])
    rows = list(read_rows(data / "conceptnet" / "conceptnet_en_merged.tsv.gz"))
    tables = [fit_table([row for row in rows if row[0] != fold]) for fold in range(N_FOLDS)]
    whole = fit_table(rows)
    figures = {
        "rows": len(rows),
        "without_wordnet": [whole[False, votes] for votes in range(MOST_VOTES + 1)],
        "with_wordnet": [whole[True, votes] for votes in range(MOST_VOTES + 1)],
        "constant": measure(rows, [estimate_constant(*row[1:3]) for row in rows]),
        "steps": measure(rows, [estimate_in_steps(*row[1:3]) for row in rows]),
        "table": measure(rows, [tables[row[0]][row[1:3]] for row in rows]),
    }
    own = [list(WITHOUT_WORDNET), list(WITH_WORDNET)]
    figures["is_current"] = own == [figures["without_wordnet"], figures["with_wordnet"]]
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    print(f"{len(rows):,} assertions; koala.knowledge.weights is current: {figures['is_current']}")
    for name in ("without_wordnet", "with_wordnet"):
        print(f"{name:16} {figures[name]}")
    for name in ("constant", "steps", "table"):
        f = figures[name]
        print(
            f"{name:9} mean error {f['mean_error']:.3f}  root mean square "
            f"{f['root_mean_square']:.3f}  ordered {f['ordered']:.1f} %  tied {f['tied']:.1f} %"
        )


if __name__ == "__main__":
    main()
