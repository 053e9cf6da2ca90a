"""Choose the assertions of the bundled store and estimate their weights.

    python benchmarks/knowledge_pack.py conceptnet_en_merged.tsv.gz -o conceptnet-5.6.tsv
    koala knowledge build conceptnet-5.6.tsv -o src/koala/knowledge/pack/conceptnet-5.6.store

Chosen are all assertions of the subset of ConceptNet 5.6 (source `cn56npm`), and of the two smaller
subgraphs of ConceptNet 5 (`twc`, `csrl`) the RelatedTo assertions with support: votes of ConceptNet
4, the same assertion in the other direction, or choice by the curated subgraph `csrl`. No corpus is
read. Weights are estimated for all; the real ones, most of which come from the output of the
published retrieval, are not used. Nor is any row that only this output or ConceptNet 4 holds.
"""

import argparse
import csv
import gzip
from pathlib import Path

from koala.files import write_text
from koala.knowledge.weights import SUPPORTED_VAGUE_WEIGHT, estimate_weight

WHOLE = "cn56npm"
"""The source that is taken whole."""

RELATED = {"twc", "csrl"}
"""The sources whose RelatedTo assertions are taken if they have support."""

CURATED = "csrl"

VOTED_WEIGHT = 1.8
"""Weight of a RelatedTo assertion with votes, where no real weight tells the heavy ones apart."""

COLUMNS = ("head", "relation", "tail", "estimated_weight")


def read_rows(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def choose(rows):
    """Yield the chosen assertions with their estimated weights, in the order of the file."""
    rows = [row for row in rows if {WHOLE, *RELATED} & set(row["sources"].split("|"))]
    related = {(row["head"], row["tail"]) for row in rows if row["relation"] == "RelatedTo"}
    for row in rows:
        sources, relation = set(row["sources"].split("|")), row["relation"]
        n_votes = float(row["cn4_votes"] or 0)
        if relation == "RelatedTo":
            is_mutual = (row["tail"], row["head"]) in related
            if not sources & RELATED or not (n_votes or is_mutual or CURATED in sources):
                continue
            weight = VOTED_WEIGHT if n_votes else SUPPORTED_VAGUE_WEIGHT
        elif WHOLE in sources:
            in_wordnet = row["in_wordnet31"] == "1"
            weight = estimate_weight(relation, in_wordnet=in_wordnet, n_votes=n_votes)
        else:
            continue
        yield row["head"], relation, row["tail"], weight


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("merged", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(map(str, row)) for row in choose(read_rows(options.merged))]
    write_text(options.output, "\n".join(lines) + "\n")
    print(f"Wrote {options.output}: {len(lines) - 1:,} assertions.")


if __name__ == "__main__":
    main()
