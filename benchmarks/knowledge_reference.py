"""Comparison with the published retrieval: how many of its triples are in koala's top ten.

    KOALA_DATA=… python benchmarks/knowledge_reference.py --store STORE

STORE is built without triples that come only from the published system:

    koala knowledge build $KOALA_DATA/conceptnet/conceptnet_en_merged.tsv.gz \\
        --exclude-source koala -o STORE

Only entities of train and dev are compared. A published triple counts if the store has it (same
relation, same stems on both sides). Also prints the paper's statistics of relevant triples.
"""

import argparse
import gzip
import json
import os
import sys
from collections import Counter
from pathlib import Path

from koala.corpora import read_corpus
from koala.document import Procedure, annotate
from koala.encoders import open_encoder
from koala.grid import Grid
from koala.knowledge.relevance import count_verbs, label_triples
from koala.knowledge.retrieval import LEAST_WEIGHT, Match, Retriever, is_exact, measure_overlap
from koala.knowledge.store import Store
from koala.knowledge.triple import RELATIONS
from koala.text.nlp import stem_content

NAMES = {relation.lower(): relation for relation in RELATIONS}
Key = tuple[str, frozenset[str], frozenset[str]]


def key_of(head: str, relation: str, tail: str) -> Key:
    name = NAMES.get(relation.lower(), relation)
    return name, frozenset(stem_content(head)), frozenset(stem_content(tail))


def read_reference(path: Path) -> dict[tuple[str, str], list[tuple[Key, str, float, str]]]:
    """Give the published triples by procedure and entity: key, kind of match, weight and line.

    The kind is RELEVANCE for exact matches and BERT for fuzzy ones.
    """
    reference = {}
    with gzip.open(path) as file:
        entries = json.load(file)
    for entry in entries:
        found = []
        for line in entry["cpnet"]:
            cells = line.split(", ")
            key = key_of(cells[2], cells[0], cells[5])
            found.append((key, cells[9], float(cells[7]), line))
        reference[str(entry["id"]), entry["entity"]] = found
    return reference


def read_split(data: Path) -> tuple[list[Procedure], list[Grid], int]:
    splits = read_corpus(data / "propara").splits
    examples = [*splits["train"], *splits["dev"]]
    procedures = annotate([example.procedure for example in examples])
    return procedures, [example.gold for example in examples], len(splits["train"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=0, help="missed triples to print by reason")
    parser.add_argument("--depth", type=int, default=10, help="triples to retrieve per entity")
    parser.add_argument("--exact", action="store_true", help="find exact matches alone")
    options = parser.parse_args()
    if not os.environ.get("KOALA_DATA"):
        sys.exit("Set KOALA_DATA to the folder that contains propara/ and conceptnet/.")
    data = Path(os.environ["KOALA_DATA"])
    reference = read_reference(data / "conceptnet" / "reference-retrieval.json.gz")
    procedures, golds, n_train = read_split(data)
    store = Store.open(options.store)
    known = {key_of(t.head, t.relation, t.tail) for t in store}
    retriever = Retriever(store, None if options.exact else open_encoder(), n_triples=options.depth)
    retrieved = retriever.retrieve(procedures, progress=show_progress)
    print(file=sys.stderr)
    report_overlap(reference, procedures, retrieved, known, store, options.examples)
    report_relevance(procedures, golds, retrieved, n_train)


def show_progress(done: int, total: int) -> None:
    print(f"\r{done:,} of {total:,} triples encoded", end="", file=sys.stderr)


def report_overlap(reference, procedures, retrieved, known, store, n_examples) -> None:
    counts: dict[str, Counter[str]] = {"exact": Counter(), "fuzzy": Counter()}
    examples: dict[str, list[str]] = {}
    n_matched = 0
    for procedure, groups in zip(procedures, retrieved, strict=True):
        for entity, found in zip(procedure.entities, groups, strict=True):
            wanted = reference.get((procedure.id, entity.name.lower())) or reference.get(
                (procedure.id, entity.name)
            )
            if wanted is None:
                continue
            n_matched += 1
            ours = {key_of(r.triple.head, r.triple.relation, r.triple.tail): r for r in found}
            for key, kind, weight, line in wanted:
                group = counts["exact" if kind == "RELEVANCE" else "fuzzy"]
                group["all"] += 1
                if key not in known:
                    continue
                group["in store"] += 1
                if key in ours:
                    group["found"] += 1
                    continue
                reason = explain(procedure, entity, key, weight, found, store)
                group[reason] += 1
                examples.setdefault(f"{kind} {reason}", []).append(f"{entity.name} | {line}")
    print(f"{n_matched:,} entities of train and dev")
    for name, group in counts.items():
        share = group["found"] / max(1, group["in store"])
        print(f"{name}: {group['all']:,} published, {group['in store']:,} in the store, "
              f"{group['found']:,} in koala's top ten = {share:.1%}")  # fmt: skip
        for reason, count in group.most_common():
            if reason not in ("all", "in store", "found"):
                print(f"    {count:6,}  {reason}")
    for reason, lines in sorted(examples.items()):
        for line in lines[:: max(1, len(lines) // max(1, n_examples))][:n_examples]:
            print(f"  {reason}: {line}")


def explain(procedure, entity, key, weight, found, store) -> str:
    """Give the reason why a published triple is not in koala's top ten."""
    aliases = [stem_content(alias) for alias in entity.aliases]
    neighbours = {
        key_of(n.triple.head, n.triple.relation, n.triple.tail): n
        for n in store.find_neighbours(aliases)
    }
    if key not in neighbours:
        return "not among koala's neighbours (side, part of speech, match of the name)"
    neighbour = neighbours[key]
    own = {each for alias in aliases for each in alias}
    texts = [procedure.question, *(step.text for step in procedure.steps)]
    named = frozenset(each for text in texts for each in stem_content(text)) - own
    if neighbour.triple.weight < LEAST_WEIGHT <= weight:
        return "its estimated weight is below 1"
    if is_exact(neighbour, measure_overlap(neighbour, named)):
        last = found[-1].triple.weight if found else 0
        if abs(neighbour.triple.weight - last) < 1e-6:
            return "exact here, too; a tie at rank ten is broken differently"
        return "exact here, too; its weight ranks it lower"
    if found and all(one.match == Match.EXACT for one in found):
        return "fuzzy here; ten exact triples come first"
    return "fuzzy here; other triples have a higher cosine"


def report_relevance(procedures, golds, retrieved, n_train) -> None:
    verbs = count_verbs(zip(procedures[:n_train], golds[:n_train], strict=True))
    print("verbs:", {action.value: len(found) for action, found in verbs.verbs.items()})
    n_entities = n_relevant = n_triples = n_relevant_triples = 0
    pairs = zip(procedures, golds, retrieved, strict=True)
    for _, gold, groups in list(pairs)[:n_train]:
        for row, found in zip(gold.rows, groups, strict=True):
            labels = label_triples(row, [one.triple for one in found], verbs).any
            n_entities += 1
            n_relevant += bool(labels.any())
            n_triples += labels.shape[1]
            n_relevant_triples += int(labels.any(0).sum())
    print(f"train: {n_relevant / n_entities:.1%} of {n_entities:,} entities have a relevant triple")
    print(
        f"train: {n_relevant_triples / n_triples:.1%} of {n_triples:,} triples are relevant at "
        "some step"
    )


if __name__ == "__main__":
    main()
