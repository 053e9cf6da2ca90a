"""Entity discovery against the gold entities of dev, compared with a noun-frequency baseline.

    KOALA_DATA=… python benchmarks/entities.py [--settings | --end-to-end]

--settings compares settings of the learner by cross-validation on train. --end-to-end tracks the
entities that were found and scores the grids; unmatched entities count as errors.
"""

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import koala
from koala.corpora import read_corpus
from koala.discovery import find_entities
from koala.document import Procedure, annotate, build_entity
from koala.encoders import open_encoder
from koala.evaluation.discovery import (
    DiscoveryScores,
    compare_entities,
    match_names,
    score_entities,
    score_found,
)
from koala.grid import Grid
from koala.training.discovery import (
    DiscoverySettings,
    build_lessons,
    cross_validate,
    find_threshold,
    score_lessons,
)

SETTINGS = {
    "as shipped": DiscoverySettings(),
    "recipes count 0.1": DiscoverySettings(extra_weight=0.1),
    "recipes count 1": DiscoverySettings(extra_weight=1.0),
    "no recipes": DiscoverySettings(extra=0),
    "no recipes, no vectors": DiscoverySettings(extra=0, nouns=0, verbs=0),
    "no recipes, no vectors of nouns": DiscoverySettings(extra=0, nouns=0),
    "no recipes, no vectors of verbs": DiscoverySettings(extra=0, verbs=0),
    "no recipes, no words": DiscoverySettings(extra=0, words=0),
    "no recipes, words 1": DiscoverySettings(extra=0, words=1),
    "no recipes, words 2.5": DiscoverySettings(extra=0, words=2.5),
    "no recipes, nouns 0.15": DiscoverySettings(extra=0, nouns=0.15),
    "no recipes, nouns 0.5": DiscoverySettings(extra=0, nouns=0.5),
    "no recipes, verbs 0.4": DiscoverySettings(extra=0, verbs=0.4),
    "no recipes, l2 1.5": DiscoverySettings(extra=0, l2=1.5),
    "no recipes, l2 6": DiscoverySettings(extra=0, l2=6),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", action="store_true")
    parser.add_argument("--end-to-end", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("KOALA_DATA"):
        sys.exit("Set KOALA_DATA to the folder that contains propara/ and recipes/.")
    data = Path(os.environ["KOALA_DATA"])
    if options.settings:
        compare_settings(data)
    elif options.end_to_end:
        track_found(data)
    else:
        compare_with_frequency(data)


def compare_with_frequency(data: Path) -> None:
    for name in ("propara", "recipes"):
        splits = read_corpus(data / name).splits
        train, dev = (
            annotate([example.procedure for example in splits[split]]) for split in ("train", "dev")
        )
        rules = [(rule, n) for rule in ("at least", "the first") for n in range(1, 13)]
        best = max(rules, key=lambda rule: score_all(train, find_frequent(train, *rule)).score.f1)
        frequent = score_all(dev, find_frequent(dev, *best))
        found = score_all(dev, find_entities(dev))
        show(
            f"{name} train, nouns: {best[0]} {best[1]}",
            score_all(train, find_frequent(train, *best)),
        )
        show(f"{name} dev, nouns: {best[0]} {best[1]}", frequent)
        show(f"{name} dev, found", found)
        everything = [tuple(lesson.names) for lesson in build_lessons(dev, open_encoder())]
        show(f"{name} dev, every noun phrase", score_all(dev, everything))
        gain = compare_entities(found, frequent)
        print(
            f"  difference {100 * gain.f1_difference:.1f} "
            f"({100 * gain.low:.1f} to {100 * gain.high:.1f}), "
            f"relative {found.score.f1 / frequent.score.f1 - 1:+.1%}  {gain.signature}"
        )
    measure_time(dev)


def find_frequent(procedures: list[Procedure], rule: str, n: int) -> list[tuple[str, ...]]:
    """Give nouns that occur at least n times, or the n most frequent; all forms are aliases."""
    found = []
    for procedure in procedures:
        counts, forms = Counter(), {}
        for step in procedure.steps:
            for word in step.words:
                if word.pos in ("NOUN", "PROPN") and word.text[0].isalpha():
                    counts[word.lemma] += 1
                    forms.setdefault(word.lemma, {word.lemma: None})[word.text] = None
        chosen = (
            [noun for noun, count in counts.items() if count >= n]
            if rule == "at least"
            else [noun for noun, _ in counts.most_common(n)]
        )
        found.append(tuple("; ".join(forms[noun]) for noun in chosen))
    return found


def score_all(procedures: list[Procedure], found: list[tuple[str, ...]]) -> DiscoveryScores:
    return score_entities(
        {procedure.id: names for procedure, names in zip(procedures, found, strict=True)},
        {procedure.id: [entity.name for entity in procedure.entities] for procedure in procedures},
    )


def show(name: str, scores: DiscoveryScores) -> None:
    prf = " ".join(f"{100 * value:5.1f}" for value in scores.score.to_dict().values())
    print(f"{name:38} {prf}  {scores.signature}")


def measure_time(procedures: list[Procedure]) -> None:
    """Measure the time per text, and that of the encoder alone on the same text."""
    encoder = open_encoder()
    whole, bare = [], []
    for procedure in procedures:
        words = [word.text for step in procedure.steps for word in step.words]
        start = time.perf_counter()
        encoder.encode([words])
        middle = time.perf_counter()
        find_entities([procedure])
        bare.append(middle - start)
        whole.append(time.perf_counter() - middle)
    print(
        f"one annotated text: {1000 * statistics.median(whole):.1f} ms, "
        f"the encoder alone {1000 * statistics.median(bare):.1f} ms (medians)"
    )


def compare_settings(data: Path) -> None:
    encoder = open_encoder(threads=1)
    train, extra = (
        build_lessons(
            [example.procedure for example in read_corpus(data / name).splits["train"][:most]],
            encoder,
        )
        for name, most in (("propara", None), ("recipes", DiscoverySettings().extra))
    )
    for name, settings in SETTINGS.items():
        scores = cross_validate(train, extra[: settings.extra], settings)
        threshold = find_threshold(train, scores)
        prf = score_lessons(train, scores, threshold).score
        print(
            f"{name:32} {100 * prf.precision:5.1f} {100 * prf.recall:5.1f} {100 * prf.f1:5.1f}"
            f"  threshold {threshold:.2f}",
            flush=True,
        )


def track_found(data: Path) -> None:
    examples = read_corpus(data / "propara").splits["dev"]
    named = [example.procedure for example in examples]
    gold = {example.procedure.id: example.gold for example in examples}
    found = [
        replace(procedure, entities=tuple(map(build_entity, names)))
        for procedure, names in zip(named, find_entities(named), strict=True)
    ]
    tracker = koala.load()
    print(tracker.card.signature)
    for name, grids in (
        ("gold entities", tracker.track_all(named)),
        ("found entities", tracker.track_all(found)),
        (
            "found entities, gold rows where matched",
            [track_perfectly(p, gold[p.id]) for p in found],
        ),
    ):
        scores = score_found({grid.id: grid for grid in grids}, gold)
        prf = " ".join(f"{100 * value:5.1f}" for value in scores.overall.to_dict().values())
        print(f"{name:42} {prf}  {scores.signature}", flush=True)


def track_perfectly(procedure: Procedure, gold: Grid) -> Grid:
    """Give the gold rows of matched entities only: the upper bound for found entities."""
    matched = match_names([entity.name for entity in procedure.entities], gold.names)
    return replace(gold, rows=tuple(gold.rows[number] for number in sorted(matched)))


if __name__ == "__main__":
    main()
