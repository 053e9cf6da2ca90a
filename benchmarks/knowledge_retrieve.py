"""Time of retrieval for all entities of a procedure, one procedure at a time: cold and cached.

    KOALA_DATA=… python benchmarks/knowledge_retrieve.py [--store STORE]

Cold: no vector of a triple is cached. Cached: the same procedure again. For comparison, the time of
the encoder on the same texts, which is the lower bound of any retrieval with context.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from koala.corpora import read_corpus
from koala.document import annotate
from koala.encoders import open_encoder
from koala.knowledge.retrieval import Retriever
from koala.knowledge.store import Store
from koala.knowledge.vectors import NeighbourVectors


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", type=Path)
    parser.add_argument("--procedures", type=int, default=20)
    options = parser.parse_args()
    if not os.environ.get("KOALA_DATA"):
        sys.exit("Set KOALA_DATA to the folder that contains propara/.")
    examples = read_corpus(Path(os.environ["KOALA_DATA"]) / "propara").splits["dev"]
    procedures = annotate([example.procedure for example in examples[: options.procedures]])
    encoder, store = open_encoder(), Store.open(options.store)
    encoder.encode([["warm", "up"]])
    floor, cold, cached = [], [], []
    for procedure in procedures:
        words = [word.text for step in procedure.steps for word in step.words]
        floor.append(measure(lambda words=words: encoder.encode([words])))
        with tempfile.TemporaryDirectory() as folder:
            vectors = NeighbourVectors(encoder, Path(folder))
            retriever = Retriever(store, encoder, vectors=vectors)
            cold.append(measure(lambda r=retriever, p=procedure: r.retrieve([p])))
            cached.append(measure(lambda r=retriever, p=procedure: r.retrieve([p])))
    base = statistics.median(floor)
    for name, times in (("encoder alone", floor), ("cold", cold), ("cached", cached)):
        median, worst = statistics.median(times), max(times)
        print(
            f"{name:14} median {1000 * median:8.1f} ms  worst {1000 * worst:8.1f} ms"
            f"  {median / base:6.1f}x the encoder alone"
        )


def measure(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
