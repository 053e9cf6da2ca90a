"""What the annotations of Recipes say, and how much of it a network is given to see.

KOALA_DATA=DATA python benchmarks/recipes.py
"""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from koala.corpora import Example, read_corpus
from koala.document import Procedure
from koala.grid.states import ABSENT, UNKNOWN
from koala.inference.predict import annotate_as, find_triples
from koala.settings import KnowledgeSettings, TextSettings, read_settings
from koala.training.data import build_training_data

CONFIG = Path(__file__).parent.parent / "configs" / "recipes" / "tracker-minilm.toml"


def main() -> None:
    """Print all figures of docs/recipes.md."""
    corpus = read_corpus(Path(os.environ["KOALA_DATA"], "recipes"))
    settings = read_settings(CONFIG)
    for split in ("train", "dev"):
        examples = corpus.splits[split]
        print(f"{split}: {count_rules(examples)}")
        texts = [example.procedure for example in examples]
        for name, text in (("whole names", TextSettings()), ("parts", settings.text)):
            procedures = annotate_as(text, texts)
            print(f"  {name}: {count_mentions(procedures, examples)}")
        for known in ("", settings.text.known_locations):
            own = TextSettings(locations="nouns", known_locations=known)
            shares = count_locations(annotate_as(own, texts), examples)
            print(f"  known places {known!r}: {shares}")
        for has_fuzzy in (False, True):
            print(f"  triples, fuzzy {has_fuzzy}: {count_triples(procedures, has_fuzzy=has_fuzzy)}")
    used = build_training_data(
        corpus, read_settings(CONFIG.parent.parent / "screen" / "recipes-knowledge.toml")
    )
    labelled = [
        item.relevance.states.any() or item.relevance.locations.any()
        for item in used.train
        if item.relevance
    ]
    shares = f"{sum(labelled)} of {len(used.train)}"
    print(f"ingredients of train with a triple labelled relevant: {shares}")


def count_rules(examples: Sequence[Example]) -> Counter[str]:
    """Count what holds of steps and uses."""
    counts: Counter[str] = Counter()
    for example in examples:
        if example.gold is None or example.takes_part is None:
            continue
        rows = [row.locations for row in example.gold.rows]
        text = " ".join(example.gold.steps).lower()
        counts["ingredients"] += len(rows)
        counts["never used"] += sum(not any(used) for used in example.takes_part)
        for step in range(len(example.gold.steps)):
            cells = [(row[step], row[step + 1]) for row in rows]
            new = [after for before, after in cells if after not in (before, ABSENT)]
            if len(new) > 1:
                counts["steps that change several"] += 1
                counts["… to one place"] += len(set(new)) == 1
            for location in new:
                counts["changes"] += 1
                counts["… to a place that the text does not name"] += (
                    location != UNKNOWN and location not in text
                )
            named = set(new) - {UNKNOWN}
            for (before, after), used in zip(cells, example.takes_part, strict=True):
                if before != ABSENT and after == ABSENT:
                    counts["gone again"] += 1
                if named and used[step]:
                    counts["uses in a step with a new place"] += 1
                    counts["… and are there"] += after in named
                if not used[step] and after != before:
                    counts["changes without use"] += 1
    return counts


def count_mentions(procedures: Sequence[Procedure], examples: Sequence[Example]) -> str:
    """Say how many first uses name the ingredient, and how many mentions are uses."""
    firsts, mentions = [], []
    for procedure, example in zip(procedures, examples, strict=True):
        for entity, used in zip(procedure.entities, example.takes_part or (), strict=True):
            steps = {span.step for span in entity.mentions}
            if any(used):
                firsts.append(used.index(True) in steps)
            mentions += [used[step] for step in steps]
    return (
        f"{sum(firsts) / len(firsts):.1%} of {len(firsts)} first uses are named, "
        f"{sum(mentions) / len(mentions):.1%} of {len(mentions)} mentions are uses"
    )


def count_locations(procedures: Sequence[Procedure], examples: Sequence[Example]) -> str:
    """Say how many of the places that ingredients change to are candidates."""
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
    """Say how many triples are found for an ingredient."""
    if has_fuzzy:
        procedures = procedures[:20]  # two seconds each
    groups = find_triples(procedures, KnowledgeSettings(has_fuzzy=has_fuzzy))
    counts = [len(triples) for group in groups for triples in group]
    none = sum(count == 0 for count in counts)
    return f"{sum(counts) / len(counts):.1f} an ingredient, none for {none} of {len(counts)}"


if __name__ == "__main__":
    main()
