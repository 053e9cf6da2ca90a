"""Time of paragraph retrieval for all ProPara procedures, compared with a plain implementation.

    KOALA_DATA=… python benchmarks/wikipedia_retrieve.py [--sample 20000] [-o OUT.jsonl] [--json]

Three processes run one after the other: koala on all three corpora, koala on a sample (their first
paragraphs), and on the same sample a straightforward scorer: one paragraph at a time, with
dictionaries and one heap per query. The results of both on the sample are compared.
"""

import argparse
import heapq
import json
import math
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

from koala.corpora import read_corpus
from koala.files import write_text
from koala.pretraining.wikipedia import Retriever, read_paragraphs, retrieve_paragraphs
from koala.text.nlp import is_content

CORPORA = ("simplewiki_2017", "enwiki_science", "openstax_ccby")
K = 50
VERBS = ("are", "could", "did", "does", "do", "has", "have", "is", "should", "was", "were", "would")
CONTRACTED = {"d", "ll", "m", "re", "s", "t", "ve"} | {f"{verb}n" for verb in VERBS}


def read_queries(data):
    splits = read_corpus(data / "propara").splits.values()
    return [example.procedure for examples in splits for example in examples]


def corpora_of(data):
    return [data / "wikipedia" / name / "paragraphs.tsv.xz" for name in CORPORA]


def split_grams(text):
    tokens = re.findall(r"[^\W_]+|[^\w\s]", text.lower())
    tells = [is_content(token) and token not in CONTRACTED for token in tokens]
    grams = [token for token, tell in zip(tokens, tells, strict=True) if tell]
    for index in range(len(tokens) - 1):
        if tells[index] and tells[index + 1]:
            grams.append(f"{tokens[index]} {tokens[index + 1]}")
    return Counter(grams)


def score_plainly(queries, paragraphs):
    """Give the best paragraphs of every query as {(query, text): score}, without koala's code."""
    postings, holding, n_paragraphs = {}, Counter(), 0
    for query in queries:
        for gram, count in split_grams(" ".join(step.text for step in query.steps)).items():
            postings.setdefault(gram, []).append((query.id, math.log(count + 1)))
    for paragraph in paragraphs():
        holding.update(split_grams(paragraph.text).keys())
        n_paragraphs += 1
    best = {query.id: [] for query in queries}
    for paragraph in paragraphs():
        scores = Counter()
        for gram, count in split_grams(paragraph.text).items():
            n = holding[gram]
            idf = max(0.0, math.log((n_paragraphs - n + 0.5) / (n + 0.5)))
            for query, weight in postings.get(gram, ()):
                scores[query] += math.log(count + 1) * weight * idf**2
        for query, score in scores.items():
            entry = (score, paragraph.text)
            if len(best[query]) == K and entry <= best[query][0]:
                continue
            if entry not in best[query]:
                add = heapq.heappush if len(best[query]) < K else heapq.heapreplace
                add(best[query], entry)
    return {(query, text): s for query, entries in best.items() for s, text in entries if s > 0}


def sample_with_koala(queries, paragraphs):
    retriever = Retriever(queries, k=K)
    retriever.count(paragraphs())
    retriever.rank(paragraphs())
    return {(one.query, one.text): one.score for one in retriever.results()}


def work(name, data, sample, output):
    """Run one part in this process and print its numbers."""
    queries = read_queries(data)
    is_content("word")  # loads the stop words
    start, start_cpu = time.perf_counter(), time.process_time()
    if name == "full":
        found = retrieve_paragraphs(queries, corpora_of(data), k=K)
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        n_paragraphs = sum(1 for _ in read_paragraphs(corpora_of(data)))
        lines = (json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in found)
        write_text(output or os.devnull, "".join(lines))
        figures = {"results": len(found), "distinct": len({one.text for one in found})}
    else:
        run = sample_with_koala if name == "koala" else score_plainly
        n_paragraphs = sample
        found = run(queries, lambda: islice(read_paragraphs(corpora_of(data)), sample))
        seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
        # Ties at the end of a list may be broken differently, so only scores are compared.
        scores = sorted((query, round(score, 6)) for (query, _), score in found.items())
        figures = {"results": len(found), "scores": scores}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures |= {
        "paragraphs": n_paragraphs,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_mib": peak,
    }
    print(json.dumps(figures))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--output", help="file for the retrieved paragraphs")
    parser.add_argument("--part", choices=("full", "koala", "plain"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    data = Path(os.environ.get("KOALA_DATA", "data"))
    if options.part:
        work(options.part, data, options.sample, options.output)
        return
    figures = {}
    for part in ("full", "koala", "plain"):
        command = [sys.executable, __file__, "--part", part, "--sample", str(options.sample)]
        command += ["-o", options.output] if options.output else []
        figures[part] = json.loads(subprocess.check_output(command))
    mine, theirs = figures["koala"].pop("scores"), figures["plain"].pop("scores")
    figures["same_scores"] = len(mine) == len(theirs) and all(
        a[0] == b[0] and math.isclose(a[1], b[1], abs_tol=2e-6)
        for a, b in zip(mine, theirs, strict=True)
    )
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for part in ("full", "koala", "plain"):
        one = figures[part]
        # Processor time, because other processes on the machine do not change it.
        speed = one["paragraphs"] / one["cpu_seconds"]
        print(
            f"{part:6} {one['paragraphs']:>8,} paragraphs  {one['seconds']:7.1f} s  "
            f"{one['cpu_seconds']:7.1f} s CPU  "
            f"{speed:>8,.0f} paragraphs/s  {one['peak_mib']:6.0f} MiB"
        )
    full = figures["full"]
    print(f"retrieved {full['results']:,}, {full['distinct']:,} different paragraphs")
    print(f"both give the same scores on the sample: {figures['same_scores']}")


if __name__ == "__main__":
    main()
