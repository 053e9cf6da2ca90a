"""Time of looking up every entity of ProPara and Recipes in a store, and of opening the store.

    KOALA_DATA=… python benchmarks/knowledge_lookup.py [--store STORE] [--json]

The bundled store is measured too. Without --store, one is built from the merged TSV in KOALA_DATA.
Opening is measured in fresh processes, until the first lookup has returned, without imports.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from koala.corpora import read_corpus
from koala.knowledge.conceptnet import build_store
from koala.knowledge.store import BUNDLED_STORE, Store
from koala.text.nlp import stem_content

OPENING = """
import sys, time
from koala.knowledge.store import Store
started = time.perf_counter()
store = Store.open(sys.argv[1])
opened = time.perf_counter()
store.about([("carbon", "dioxid")])
print(opened - started, time.perf_counter() - started)
"""
TIMES_OPENED = 7


def read_entities(data):
    """Give the stemmed aliases of every entity, by corpus; equal entities are repeated."""
    return {
        name: [
            [stem_content(alias) for alias in entity.aliases]
            for examples in read_corpus(data / name).splits.values()
            for example in examples
            for entity in example.procedure.entities
        ]
        for name in ("propara", "recipes")
    }


def measure_lookups(store, entities):
    seconds, counts = [], []
    for aliases in entities:
        started = time.perf_counter()
        found = store.find_neighbours(aliases)
        seconds.append(time.perf_counter() - started)
        counts.append(len(found))
    return {
        "entities": len(entities),
        "median_ms": statistics.median(seconds) * 1e3,
        "p99_ms": statistics.quantiles(seconds, n=100)[98] * 1e3,
        "longest_ms": max(seconds) * 1e3,
        "median_triples": statistics.median(counts),
        "without_triples": counts.count(0),
    }


def measure_opening(path):
    times = []
    for _ in range(TIMES_OPENED):
        command = [sys.executable, "-c", OPENING, str(path)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        times.append([float(value) * 1e3 for value in out.split()])
    opened, answered = (statistics.median(column) for column in zip(*times, strict=True))
    return {"open_ms": opened, "open_and_first_answer_ms": answered}


def measure(path, corpora):
    with Store.open(path) as store:
        facts = {"triples": store.statistics().triples, "mb": path.stat().st_size / 1e6}
        looked_up = {name: measure_lookups(store, some) for name, some in corpora.items()}
        both = measure_lookups(store, [e for some in corpora.values() for e in some])
    return facts | measure_opening(path) | {"lookups": looked_up | {"both": both}}


def show(name, figures):
    print(f"{name}: {figures['triples']:,} triples, {figures['mb']:.1f} MB", end="; ")
    print(f"open {figures['open_ms']:.2f} ms", end=", ")
    print(f"including the first lookup {figures['open_and_first_answer_ms']:.2f} ms")
    for corpus, f in figures["lookups"].items():
        print(
            f"  {corpus:8} {f['entities']:6,} entities  median {f['median_ms']:.3f} ms  "
            f"99th percentile {f['p99_ms']:.2f} ms  longest {f['longest_ms']:.2f} ms  "
            f"(median {f['median_triples']:.0f} triples, {f['without_triples']} with none)"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    data = Path(os.environ["KOALA_DATA"])
    corpora = read_entities(data)
    with tempfile.TemporaryDirectory() as folder:
        merged = arguments.store or Path(folder) / "merged.store"
        if not arguments.store:
            build_store([data / "conceptnet" / "conceptnet_en_merged.tsv.gz"], merged)
        figures = {
            merged.name: measure(merged, corpora),
            BUNDLED_STORE.name: measure(BUNDLED_STORE, corpora),
        }
    if arguments.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, some in figures.items():
            show(name, some)


if __name__ == "__main__":
    main()
