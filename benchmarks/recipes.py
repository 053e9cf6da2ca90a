"""Regularities in the annotation of Recipes, and coverage of mentions, locations and triples.

    KOALA_DATA=… python benchmarks/recipes.py

Prints the numbers of the table "What the annotation says" in results/recipes.md.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from koala.corpora import Example, read_corpus
from koala.document import Procedure
from koala.grid.states import ABSENT, UNKNOWN
from koala.inference.predict import annotate_with, find_triples
from koala.settings import KnowledgeSettings, TextSettings, read_settings
from koala.training.data import build_training_data

CONFIG = Path(__file__).parents[1] / "configs" / "models" / "recipes.toml"


def main() -> None:
    corpus = read_corpus(Path(os.environ["KOALA_DATA"], "recipes"))
    settings = read_settings(CONFIG)
    for split in ("train", "dev"):
        examples = corpus.splits[split]
        print(f"{split}: {count_rules(examples)}")
        texts = [example.procedure for example in examples]
        for name, text in (("whole names", TextSettings()), ("parts", settings.text)):
            procedures = annotate_with(text, texts)
            print(f"  {name}: {count_mentions(procedures, examples)}")
        for known in ("", settings.text.known_locations):
            own = TextSettings(locations="nouns", known_locations=known)
            shares = count_locations(annotate_with(own, texts), examples)
            print(f"  known locations {known!r}: {shares}")
        for has_fuzzy in (False, True):
            print(f"  triples, fuzzy {has_fuzzy}: {count_triples(procedures, has_fuzzy=has_fuzzy)}")
    exact = replace(settings.knowledge, is_used=True, has_fuzzy=False)
    train = build_training_data(corpus, replace(settings, knowledge=exact)).train
    n_relevant = sum(item.relevance is not None and item.relevance.any.any() for item in train)
    print(f"ingredients of train with a relevant triple: {n_relevant} of {len(train)}")


def count_rules(examples: Sequence[Example]) -> Counter[str]:
    """Count ingredients, changes and participations, and how many follow each regularity."""
    counts: Counter[str] = Counter()
    for example in examples:
        if example.gold is None or example.participation is None:
            continue
        rows = [row.locations for row in example.gold.rows]
        text = " ".join(example.gold.steps).lower()
        counts["ingredients"] += len(rows)
        counts["that never participate"] += sum(not any(row) for row in example.participation)
        for step in range(len(example.gold.steps)):
            cells = [(row[step], row[step + 1]) for row in rows]
            new = [after for before, after in cells if after not in (before, ABSENT)]
            if len(new) > 1:
                counts["steps that change several"] += 1
                counts["… to one location"] += len(set(new)) == 1
            for location in new:
                counts["changes"] += 1
                counts["… to a location that the text does not name"] += (
                    location != UNKNOWN and location not in text
                )
            named = set(new) - {UNKNOWN}
            for (before, after), participation in zip(cells, example.participation, strict=True):
                if before != ABSENT and after == ABSENT:
                    counts["disappearances"] += 1
                if named and participation[step]:
                    counts["participations in a step with a new location"] += 1
                    counts["… after which the ingredient is there"] += after in named
                if not participation[step] and after != before:
                    counts["changes without participation"] += 1
    return counts


def count_mentions(procedures: Sequence[Procedure], examples: Sequence[Example]) -> str:
    """Count first participations that name the ingredient, and mentions that participate."""
    firsts, mentions = [], []
    for procedure, example in zip(procedures, examples, strict=True):
        for entity, participation in zip(
            procedure.entities, example.participation or (), strict=True
        ):
            steps = {span.step for span in entity.mentions}
            if any(participation):
                firsts.append(participation.index(True) in steps)
            mentions += [participation[step] for step in steps]
    return (
        f"{sum(firsts) / len(firsts):.1%} of {len(firsts)} first participations are named, "
        f"{sum(mentions) / len(mentions):.1%} of {len(mentions)} mentions are participations"
    )


def count_locations(procedures: Sequence[Procedure], examples: Sequence[Example]) -> str:
    """Count changes whose new location is a candidate."""
    found, n_candidates = [], 0
    for procedure, example in zip(procedures, examples, strict=True):
        names = {candidate.name for candidate in procedure.candidates} | {UNKNOWN}
        n_candidates += len(names)
        for row in example.gold.rows if example.gold else ():
            found += [
                after in names
                for before, after in zip(row.locations, row.locations[1:], strict=False)
                if after not in (before, ABSENT)
            ]
    return (
        f"{sum(found) / len(found):.1%} of changes, {n_candidates / len(procedures):.1f} candidates"
    )


def count_triples(procedures: Sequence[Procedure], *, has_fuzzy: bool) -> str:
    """Count the triples retrieved per ingredient."""
    if has_fuzzy:
        procedures = procedures[:20]  # two seconds each
    groups = find_triples(procedures, KnowledgeSettings(has_fuzzy=has_fuzzy))
    counts = [len(triples) for group in groups for triples in group]
    n_without = sum(count == 0 for count in counts)
    return f"{sum(counts) / len(counts):.1f} per ingredient, none for {n_without} of {len(counts)}"


if __name__ == "__main__":
    main()
