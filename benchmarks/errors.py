"""Error analysis of ProPara predictions: tags, steps with and without a mention, locations, topics.

    KOALA_DATA=… python benchmarks/errors.py predictions.tsv [--split dev] [--json]

Reads predictions of any system in the leaderboard's format. Prints Markdown, or with `--json` the
numbers of the tables in results/errors.md.
"""

import argparse
import csv
import json
import os
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

from koala.corpora import read_corpus
from koala.corpora.leaderboard import read_predictions
from koala.document import annotate
from koala.evaluation import score_document
from koala.grid.states import ABSENT, UNKNOWN, Tag


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "–"


def read_topics(path: Path) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row["Paragraph ID"]: row["Topic"] for row in csv.DictReader(file)}


def compare(examples, predicted):
    """Yield every cell: paragraph, gold and predicted tag, gold and predicted cell, mentioned."""
    procedures = annotate([example.procedure for example in examples])
    for procedure, example in zip(procedures, examples, strict=True):
        grid = predicted[procedure.id]
        for entity, gold in zip(procedure.entities, example.gold.rows, strict=True):
            found = grid[gold.name]
            mentioned = {span.step for span in entity.mentions}
            pairs = zip(gold.tags, found.tags, gold.steps, found.steps, strict=True)
            for step, (tag, predicted_tag, gold_cell, cell) in enumerate(pairs):
                yield procedure.id, tag, predicted_tag, gold_cell, cell, step in mentioned


def write_confusion(cells) -> None:
    counts = Counter((tag, predicted) for _, tag, predicted, *_ in cells)
    print("\n## Tags: gold in rows, predicted in columns\n")
    print("| | " + " | ".join(Tag) + " | right |\n|---" + "|---" * (len(Tag) + 1) + "|")
    for tag in Tag:
        row = [counts[tag, predicted] for predicted in Tag]
        print(
            f"| {tag} | " + " | ".join(map(str, row)),
            f"| {percent(counts[tag, tag], sum(row))} |",
        )


def write_cells(cells) -> None:
    pairs = [(gold, cell) for *_, gold, cell, _ in cells]
    actions = sum(gold.action == cell.action for gold, cell in pairs)
    both = sum((g.action, g.after) == (c.action, c.after) for g, c in pairs)
    print(f"\nAction right in {percent(actions, len(pairs))} % of the cells; ", end="")
    print(f"action and location after the step right in {percent(both, len(pairs))} %.")


def write_mentions(cells) -> None:
    print("\n## Is the entity mentioned in the step?\n")
    print(
        "| gold | mentioned: steps | right | not mentioned: steps | right |\n|---|---|---|---|---|"
    )
    for tag in Tag:
        parts = []
        for wanted in (True, False):
            found = [
                predicted == tag
                for _, gold, predicted, _, _, is_mentioned in cells
                if gold == tag and is_mentioned == wanted
            ]
            parts += [str(len(found)), percent(sum(found), len(found))]
        print(f"| {tag} | " + " | ".join(parts) + " |")


def write_locations(cells) -> None:
    print("\n## Locations, where the tag is right and the entity exists after the step\n")
    right = [(tag, gold.after, cell.after) for _, tag, predicted, gold, cell, _ in cells
             if tag == predicted and gold.after != ABSENT]  # fmt: skip
    print(
        "| gold tag | steps | location right | ? instead of a location | a location instead of ? "
        "| another location |"
    )
    print("|---|---|---|---|---|---|")
    for tag in (Tag.C, Tag.M, Tag.E):
        pairs = [(gold, predicted) for gold_tag, gold, predicted in right if gold_tag == tag]
        kinds = Counter(
            "right"
            if gold == predicted
            else "missed"
            if predicted == UNKNOWN
            else "spurious"
            if gold == UNKNOWN
            else "other"
            for gold, predicted in pairs
        )
        parts = [
            percent(kinds[kind], len(pairs)) for kind in ("right", "missed", "spurious", "other")
        ]
        print(f"| {tag} | {len(pairs)} | " + " | ".join(parts) + " |")


def score_topics(examples, predicted, topics) -> list[tuple[float, str, int]]:
    """Give the document F1, the name and the number of paragraphs of each topic, worst first."""
    by_topic = defaultdict(dict)
    for example in examples:
        by_topic[topics.get(example.procedure.id, "?")][example.procedure.id] = example.gold
    rows = []
    for topic, gold in by_topic.items():
        scores = score_document({id: predicted[id] for id in gold}, gold)
        rows.append((scores.overall.f1, topic, len(gold)))
    return sorted(rows)


def write_topics(rows) -> None:
    print("\n## Topics, by document F1\n\n| topic | paragraphs | F1 |\n|---|---|---|")
    for f1, topic, n in rows:
        print(f"| {topic} | {n} | {100 * f1:.1f} |")


_TAG_NAMES = {
    Tag.O_C: "not_yet",
    Tag.C: "created",
    Tag.E: "unchanged",
    Tag.M: "moved",
    Tag.D: "destroyed",
    Tag.O_D: "gone",
}
"""Names of the tags in results/runs/."""

_CONFUSIONS = [(Tag.E, Tag.O_D), (Tag.M, Tag.E), (Tag.D, Tag.E), (Tag.O_D, Tag.E)]


def measure_errors(cells) -> dict[str, float]:
    """Give shares in percent: tags, actions and cells that are right, by tag; and confusions."""
    plurals = {Tag.M: "moves", Tag.D: "destructions"}
    scores = {
        "tags": share(tag == predicted for _, tag, predicted, *_ in cells),
        "actions": share(gold.action == cell.action for *_, gold, cell, _ in cells),
        "cells": share((g.action, g.after) == (c.action, c.after) for *_, g, c, _ in cells),
    }
    for gold_tag, wrong in _CONFUSIONS:
        name = plurals.get(gold_tag, _TAG_NAMES[gold_tag])
        scores[f"{name}_as_{_TAG_NAMES[wrong]}"] = sum(
            (tag, predicted) == (gold_tag, wrong) for _, tag, predicted, *_ in cells
        )
    for tag, name in _TAG_NAMES.items():
        for is_named, suffix in ((True, "named"), (False, "unnamed")):
            scores[f"{name}_{suffix}"] = share(
                predicted == tag
                for _, gold_tag, predicted, _, _, is_mentioned in cells
                if gold_tag == tag and is_mentioned == is_named
            )
    for tag in (Tag.C, Tag.M, Tag.E):
        scores[f"location_{_TAG_NAMES[tag]}"] = share(
            gold.after == cell.after
            for _, gold_tag, predicted, gold, cell, _ in cells
            if gold_tag == predicted == tag
        )
    return scores


def share(values) -> float:
    """Give the percentage of the values that are true."""
    found = list(values)
    return round(100 * sum(found) / len(found), 1) if found else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    data = Path(os.environ["KOALA_DATA"], "propara")
    examples = read_corpus(data).splits[args.split]
    sentences = {e.procedure.id: e.gold.steps for e in examples}
    predicted = read_predictions(args.predictions, sentences)
    predicted = {id: replace(grid, id=id) for id, grid in predicted.items()}
    cells = list(compare(examples, predicted))
    topics = score_topics(examples, predicted, read_topics(data / "csv" / "Paragraphs.csv"))
    if args.json:
        found = {
            "errors": measure_errors(cells),
            "topics": {topic: round(100 * f1, 1) for f1, topic, _ in topics},
            "signature": score_document(
                predicted, {each.procedure.id: each.gold for each in examples}
            ).signature,
        }
        print(json.dumps(found, indent=2))
        return
    right = sum(tag == predicted_tag for _, tag, predicted_tag, *_ in cells)
    print(
        f"# {args.predictions.name}, {args.split}: "
        f"{percent(right, len(cells))} % of {len(cells)} tags are right"
    )
    write_cells(cells)
    write_confusion(cells)
    write_mentions(cells)
    write_locations(cells)
    write_topics(topics)


if __name__ == "__main__":
    main()
