"""Build a store from a synthetic dump, compared with a plain line-by-line builder.

    python benchmarks/knowledge_build.py [--lines 5000000] [--json]

The dump resembles ConceptNet's official one in format, order, line length, mix of languages and
relations, and repetition of concepts: of the 34 million official lines, 3.4 million are English on
both sides, with 1.2 million concepts. The two builders run one after the other in separate
processes; at the end, their triples are compared.
"""

import argparse
import csv
import gzip
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OFFICIAL_LINES = 34_074_917
LINES_PER_ENGLISH = 10
LINES_PER_CONCEPT = 18  # two thirds of the concepts then occur in English lines
LINES_PER_WORD = 70
LANGUAGES = ("cs", "de", "eo", "es", "fi", "fr", "it", "ja", "la", "pl", "pt", "ru", "sv", "zh")
RELATIONS = {  # with their approximate share of the English lines in percent
    "Antonym": 1,
    "AtLocation": 1,
    "CapableOf": 1,
    "DerivedFrom": 9,
    "EtymologicallyRelatedTo": 2,
    "FormOf": 11,
    "HasContext": 7,
    "HasProperty": 1,
    "IsA": 7,
    "MannerOf": 1,
    "PartOf": 1,
    "RelatedTo": 48,
    "SimilarTo": 1,
    "Synonym": 7,
    "UsedFor": 2,
}


def write_dump(path, n_lines, seed=0):
    """Write lines in the official format and order: by relation, language and start concept."""
    choose = random.Random(seed)
    words = [make_word(choose) for _ in range(n_lines // LINES_PER_WORD + 1)]
    concepts = [make_concept(choose, words) for _ in range(n_lines // LINES_PER_CONCEPT + 1)]
    total = sum(RELATIONS.values())
    left = n_lines
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8", newline="\n") as file:
        for relation, share in RELATIONS.items():
            wanted = left if relation == "UsedFor" else n_lines * share // total
            left -= wanted
            n_english = wanted // LINES_PER_ENGLISH
            n_other = (wanted - n_english) // len(LANGUAGES)
            n_rest = wanted - n_english - n_other * len(LANGUAGES)
            counts = {"en": n_english, **dict.fromkeys(LANGUAGES, n_other), "zu": n_rest}
            for language, n in sorted(counts.items()):
                file.writelines(make_lines(choose, concepts, relation, language, n))


def make_word(choose):
    syllables = (choose.choice("bcdfglmnprst") + choose.choice("aeiou") for _ in range(3))
    ending = choose.choice(("", "", "s", "ing", "ed", "tion", "ly", "er"))
    return "".join(syllables) + choose.choice("bdlmnprst") + ending


def make_concept(choose, words):
    n_words = choose.choice((1, 1, 1, 2, 2, 3))
    text = "_".join(pick(choose, words) for _ in range(n_words))
    return text + choose.choice(("", "", "/n", "/n", "/v", "/a"))


def pick(choose, items):
    """Choose an item; a few are chosen often, most of them seldom."""
    return items[int(len(items) * choose.random() ** 3)]


def make_lines(choose, concepts, relation, language, n):
    for start in sorted(pick(choose, concepts) for _ in range(n)):
        end_language = language if choose.random() < 0.8 else "en"
        edge = f"/c/{language}/{start}", f"/c/{end_language}/{pick(choose, concepts)}"
        weight = choose.choice(("1.0", "1.0", "1.0", "0.5", "2.0", "1.414", "3.464"))
        yield (
            f"/a/[/r/{relation}/,{edge[0]}/,{edge[1]}/]\t/r/{relation}\t{edge[0]}\t{edge[1]}\t"
            f'{{"dataset": "/d/wiktionary/{language}", "license": "cc:by-sa/4.0", "sources": '
            f'[{{"contributor": "/s/resource/wiktionary/{language}", "process": '
            f'"/s/process/wikiparsec/2"}}], "weight": {weight}}}\n'
        )


def build_ours(dump, store):
    from koala.knowledge.conceptnet import build_store

    build_store([dump], store)


def build_plainly(dump, store):
    """Build an SQLite file with the same triples in the obvious way: line by line, row by row."""
    from koala.knowledge.conceptnet import ADJUSTMENTS, DROPPED
    from koala.knowledge.triple import RELATIONS as KEPT
    from koala.text.nlp import stem_content

    connection = sqlite3.connect(store)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(
        "CREATE TABLE triple (head, relation, tail, weight, head_pos, tail_pos, head_key, tail_key,"
        " PRIMARY KEY (head, relation, tail)) WITHOUT ROWID"
    )
    connection.execute("CREATE TABLE word (stem, key)")
    statement = (
        "INSERT INTO triple VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "weight = max(weight, excluded.weight), "
        "head_pos = min(head_pos, excluded.head_pos), tail_pos = min(tail_pos, excluded.tail_pos)"
    )
    kept = {f"/r/{name}" for name in KEPT}
    indexed = set()
    rank = {"n": 0, "": 1, "a": 2, "r": 3, "v": 4}
    with gzip.open(dump, "rt", encoding="utf-8", newline="\n") as file:
        for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            _, relation, start, end, facts = row
            if not start.startswith("/c/en/") or not end.startswith("/c/en/"):
                continue
            if relation not in kept:
                continue
            head, _, head_pos = start[6:].partition("/")
            tail, _, tail_pos = end[6:].partition("/")
            head, tail = head.replace("_", " "), tail.replace("_", " ")
            head_stems, tail_stems = stem_content(head), stem_content(tail)
            if head in DROPPED or tail in DROPPED or head_stems == tail_stems:
                continue
            weight = json.loads(facts)["weight"] + ADJUSTMENTS.get(relation[3:], 0)
            values = (head, relation[3:], tail, round(weight, 3), rank[head_pos], rank[tail_pos])
            keys = [" ".join(sorted(set(stems))) for stems in (head_stems, tail_stems)]
            connection.execute(statement, (*values, *keys))
            for key in keys:
                if " " in key and key not in indexed:
                    indexed.add(key)
                    for stem in key.split():
                        connection.execute("INSERT INTO word VALUES (?, ?)", (stem, key))
    connection.execute("CREATE INDEX head_key ON triple (head_key)")
    connection.execute("CREATE INDEX tail_key ON triple (tail_key)")
    connection.execute("CREATE INDEX stem ON word (stem)")
    connection.commit()
    connection.close()


def read_ours(store):
    from koala.knowledge.store import Store

    with Store.open(store) as opened:
        for t in opened:
            yield t.head, t.relation, t.tail, t.weight, t.head_pos, t.tail_pos


def read_plain(store):
    letter = ["n", None, "a", "r", "v"]
    query = "SELECT head, relation, tail, weight, head_pos, tail_pos FROM triple"
    for *values, head_pos, tail_pos in sqlite3.connect(store).execute(query):
        yield *values, letter[head_pos], letter[tail_pos]


STEPS = {"write": write_dump, "koala": build_ours, "plain": build_plainly}


def run(step, *values):
    """Run one step in a separate process; give seconds and peak memory in megabytes."""
    command = [sys.executable, __file__, "--step", step, *map(str, values)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def run_here(step, values):
    import koala.text.nlp

    koala.text.nlp.stem_content("load the stop words")  # loading is not part of the measurement
    started, cpu_started = time.perf_counter(), time.process_time()
    STEPS[step](*(int(value) if value.isdigit() else value for value in values))
    figure = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
    }
    # Not getrusage, whose peak includes the parent's memory when it started this process.
    status = Path("/proc/self/status").read_text().split()
    print(json.dumps(figure | {"mb": int(status[status.index("VmHWM:") + 1]) / 1024}))


def measure(n_lines):
    with tempfile.TemporaryDirectory() as folder:
        dump, ours, plain = (Path(folder) / name for name in ("d.csv.gz", "k.store", "p.sqlite"))
        run("write", dump, n_lines)
        figures = {"lines": n_lines, "dump_mb": dump.stat().st_size / 1e6}
        for name, store in (("koala", ours), ("plain", plain)):
            figure = run(name, dump, store)
            figure |= {"lines_per_second": n_lines / figure["seconds"]}
            figures[name] = figure | {"store_mb": store.stat().st_size / 1e6}
        a, b = set(read_ours(ours)), set(read_plain(plain))
        figures |= {"triples": len(a), "equal": a == b}
    for ratio, unit in (("ratio", "seconds"), ("cpu_ratio", "cpu_seconds")):
        figures[ratio] = figures["plain"][unit] / figures["koala"][unit]
    figures["official_minutes"] = OFFICIAL_LINES / figures["koala"]["lines_per_second"] / 60
    return figures


def show(figures):
    print(f"{figures['lines']:,} lines, {figures['dump_mb']:.0f} MB gzipped,", end=" ")
    print(f"{figures['triples']:,} triples; both builders agree: {figures['equal']}")
    for name in ("koala", "plain"):
        f = figures[name]
        print(
            f"{name}  {f['seconds']:6.1f} s (CPU {f['cpu_seconds']:5.1f} s)  "
            f"{f['lines_per_second']:9,.0f} lines/s  "
            f"peak {f['mb']:5.0f} MB  store {f['store_mb']:6.1f} MB"
        )
    print(f"koala is {figures['ratio']:.2f} times as fast; by CPU time {figures['cpu_ratio']:.2f}")
    print(f"{OFFICIAL_LINES:,} lines at this rate: {figures['official_minutes']:.1f} minutes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        run_here(arguments.step[0], arguments.step[1:])
        return
    figures = measure(arguments.lines)
    print(json.dumps(figures, indent=2)) if arguments.json else show(figures)
    sys.exit(not figures["equal"])


if __name__ == "__main__":
    main()
