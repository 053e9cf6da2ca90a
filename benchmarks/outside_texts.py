"""Write ten texts from outside the training data: five of wikiHow, three protocols, two recipes.

    KOALA_DATA=… python benchmarks/outside_texts.py FOLDER [SEED]

With seed 5, the default: five random wikiHow articles of 4 to 8 steps, the first three protocols of
6 to 12 lines in the dev split of the wet-lab corpus, the fourth and fifth recipe of Recipes' dev.
With another seed, all ten are random.
"""

import json
import os
import random
import re
import sys
import tarfile
from pathlib import Path

from openpi_texts import read_articles


def read_protocols(path: Path, split: str = "dev") -> dict[str, list[str]]:
    found = {}
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda each: each.name):
            if re.fullmatch(rf"wlp/{split}/.*\.txt", member.name):
                text = archive.extractfile(member).read().decode()
                found[Path(member.name).stem] = [line for line in text.splitlines() if line.strip()]
    return found


def main() -> None:
    data, folder = Path(os.environ["KOALA_DATA"]), Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    articles = read_articles(data / "other" / "openpi.tar.gz").items()
    articles = [pair for pair in articles if 4 <= len(pair[1]) <= 8]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rng = random.Random(seed)
    texts = rng.sample(articles, 5)
    protocols = read_protocols(data / "other" / "wet-lab-protocols.tar.gz").items()
    fitting = [pair for pair in protocols if 6 <= len(pair[1]) <= 12]
    recipes = (data / "recipes" / "dev.jsonl").read_text().splitlines()
    if seed == 5:
        texts, recipes = [*texts, *fitting[:3]], recipes[3:5]
    else:
        texts, recipes = [*texts, *rng.sample(fitting, 3)], rng.sample(recipes, 2)
    texts += [(value["name"], value["sentences"]) for value in map(json.loads, recipes)]
    for name, steps in texts:
        safe = re.sub(r"[^A-Za-z0-9]+", "-", name.removeprefix("www.wikihow.com/"))
        (folder / f"{safe}.txt").write_text("\n".join(steps) + "\n")
        print(safe)


if __name__ == "__main__":
    main()
