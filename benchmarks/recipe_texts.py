"""Accuracy of recipe detection on recipes and on other texts.

    KOALA_DATA=… python benchmarks/recipe_texts.py [--tune] [--wikipedia]

--tune also prints the errors on train for other thresholds. --wikipedia also classifies paragraphs
of encyclopedias and textbooks, which all count as other texts, though a few quote recipes. Which
wikiHow articles are recipes was decided by their titles, before the rule was run on them: food and
drink that is made, not food that is only cut, stored or bought.
"""

import argparse
import json
import lzma
import os
import time
from collections.abc import Iterator
from pathlib import Path

from openpi_texts import read_articles
from outside_texts import read_protocols

from koala.corpora.leaderboard import read_sentences
from koala.text.recipe_detection import is_recipe, measure_imperatives, measure_kitchen_words

WIKIHOW = {
    "dev": "Make-Carob-Fruit-Balls Make-Rhubarb-Cordial Make-Slow-Cooker-Hot-Cocoa "
    "Make-Taco-Filling Make-Marshmallow-Cream-Cheese-Fruit-Dip "
    "Make-a-Banana-Strawberry-Rum-Smoothie Make-Potato-Ribbons Make-Asparagus-in-Serrano-Ham "
    "Make-Cheese-Sauce-with-Jalapeño-Peppers Make-Seasoned-Salt "
    "Make-Whole-Wheat-Pastry-With-Canola Make-Chocolate-Hearts-for-Valentine&#x27;s-Day "
    "Make-a-Pitcher-of-Melon-Pina-Coladas Make-Pineapple-Sherbet "
    "Make-Chinese-Macaroni-in-Just-20-Minutes",
    "test": "Make-Ful-Medames Cook-Shark Make-a-Gingerbread-Dessert-Thickie "
    "Make-Chinese-Chicken-Salad Make-Wine-by-the-Bottle "
    "Make-a-Dairy-Free-Cranberry-Banana-Smoothie Make-a-Shaker-Cocktail "
    "Prepare-a-Cereal-That-Relieves-Constipation Make-an-Elderberry-Jelly-Sore-Throat-Soother "
    "Make-an-Anti-Inflammatory-Turmeric-Paste "
    "Make-Hot-Blackcurrant-Juice-for-a-Sore-Throat Make-Low-Sodium-Split-Pea-Soup "
    "Make-a-Fertility-Smoothie Brew-a-Laxative-Tea",
}
"""Names of the recipes among the articles of OpenPI, by split."""

Texts = dict[str, str]


def read_recipes(path: Path) -> Texts:
    values = map(json.loads, path.read_text("utf-8").splitlines())
    return {value["name"]: "\n".join(value["sentences"]) for value in values}


def read_processes(folder: Path) -> Texts:
    return {id: "\n".join(steps) for id, steps in read_sentences(folder / "sentences.tsv").items()}


def read_wikihow(path: Path, split: str) -> tuple[Texts, Texts]:
    """Give the articles that are recipes, and the others."""
    names = WIKIHOW[split].split()
    texts = {
        name.removeprefix("www.wikihow.com/"): "\n".join(steps)
        for name, steps in read_articles(path, split).items()
    }
    recipes = {name: texts.pop(name) for name in names}
    return recipes, texts


def read_paragraphs(path: Path) -> Iterator[tuple[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            title, _, text = line.rstrip("\n").partition("\t")
            yield f"{title} {number}", text


def report(name: str, texts: Texts, *, expected: bool) -> None:
    wrong = [key for key, text in texts.items() if is_recipe(text) != expected]
    kind = "recipes" if expected else "others"
    print(
        f"{name} ({kind}): {len(texts) - len(wrong)} of {len(texts)} right", *wrong[:12], sep="; "
    )


def tune(recipes: Texts, others: Texts) -> None:
    shares = {
        kind: [
            (measure_kitchen_words(text.lower()), measure_imperatives(text.lower()))
            for text in texts
        ]
        for kind, texts in ((True, recipes.values()), (False, others.values()))
    }
    print(
        "errors on train, recipes + others; rows: share of kitchen words, columns: of imperatives"
    )
    orders = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    print("      ", *(f"{least:7}" for least in orders))
    for kitchen in (0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.14, 0.16):
        cells = []
        for order in orders:
            n = [
                sum((k >= kitchen and o >= order) != kind for k, o in shares[kind])
                for kind in shares
            ]
            cells.append(f"{n[0]:3} +{n[1]:2}")
        print(f"{kitchen:6}", *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--wikipedia", action="store_true")
    args = parser.parse_args()
    data = Path(os.environ["KOALA_DATA"])
    protocols = {
        split: {
            name: "\n".join(lines)
            for name, lines in read_protocols(
                data / "other" / "wet-lab-protocols.tar.gz", split
            ).items()
        }
        for split in ("train", "dev")
    }
    for split in ("train", "dev"):
        recipes = read_recipes(data / "recipes" / f"{split}.jsonl")
        processes = read_processes(data / "propara" / "leaderboard" / split)
        if args.tune and split == "train":
            tune(recipes, processes | protocols[split])
        report(f"Recipes {split}", recipes, expected=True)
        report(f"ProPara {split}", processes, expected=False)
        report(f"protocols {split}", protocols[split], expected=False)
    for split in WIKIHOW:
        recipes, others = read_wikihow(data / "other" / "openpi.tar.gz", split)
        report(f"wikiHow {split}", recipes, expected=True)
        report(f"wikiHow {split}", others, expected=False)
    if args.wikipedia:
        for path in sorted((data / "wikipedia").glob("*/paragraphs.tsv.xz")):
            texts = dict(read_paragraphs(path))
            start = time.perf_counter()
            report(path.parent.name, texts, expected=False)
            print(f"  {1e6 * (time.perf_counter() - start) / len(texts):.0f} µs per paragraph")


if __name__ == "__main__":
    main()
