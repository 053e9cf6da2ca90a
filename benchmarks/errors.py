"""Error analysis of ProPara predictions: tags, steps with and without a mention, locations, topics.

    KOALA_DATA=… python benchmarks/errors.py predictions.tsv [--split dev]

Reads predictions of any system in the leaderboard's format. Prints Markdown.
"""

import argparse
import csv
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


def write_topics(examples, predicted, topics) -> None:
    by_topic = defaultdict(dict)
    for example in examples:
        by_topic[topics.get(example.procedure.id, "?")][example.procedure.id] = example.gold
    rows = []
    for topic, gold in by_topic.items():
        scores = score_document({id: predicted[id] for id in gold}, gold)
        rows.append((scores.overall.f1, topic, len(gold)))
    print("\n## Topics, by document F1\n\n| topic | paragraphs | F1 |\n|---|---|---|")
    for f1, topic, n in sorted(rows):
        print(f"| {topic} | {n} | {100 * f1:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--split", default="dev")
    args = parser.parse_args()
    data = Path(os.environ["KOALA_DATA"], "propara")
    examples = read_corpus(data).splits[args.split]
    sentences = {e.procedure.id: e.gold.steps for e in examples}
    predicted = read_predictions(args.predictions, sentences)
    predicted = {id: replace(grid, id=id) for id, grid in predicted.items()}
    cells = list(compare(examples, predicted))
    right = sum(tag == predicted_tag for _, tag, predicted_tag, *_ in cells)
    print(
        f"# {args.predictions.name}, {args.split}: "
        f"{percent(right, len(cells))} % of {len(cells)} tags are right"
    )
    write_cells(cells)
    write_confusion(cells)
    write_mentions(cells)
    write_locations(cells)
    write_topics(examples, predicted, read_topics(data / "csv" / "Paragraphs.csv"))


if __name__ == "__main__":
    main()
