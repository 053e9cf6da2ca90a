"""Convert the wikiHow texts of OpenPI to procedures without labels, as JSON lines.

python benchmarks/openpi_texts.py openpi.tar.gz -o openpi.jsonl
"""

import argparse
import json
import tarfile
from pathlib import Path

_QUESTION = " Now, what happens?"


def read_articles(path: Path, split: str = "train") -> dict[str, list[str]]:
    """Give the steps of every article."""
    return {
        article: [step for step, _ in steps]
        for article, steps in read_labelled(path, split).items()
    }


def read_labelled(path: Path, split: str = "train") -> dict[str, list[tuple[str, str]]]:
    """Give the steps of every article, each with OpenPI's description of its changes.

    In the file, each line repeats all earlier steps.
    """
    texts: dict[str, dict[int, tuple[str, str]]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if not member.name.endswith(f"{split}.jsonl"):
                continue
            for line in archive.extractfile(member):
                value = json.loads(line)
                article, _, number = value["id"].partition("||")
                text = value["question"].removesuffix(_QUESTION)
                texts.setdefault(article, {})[int(number)] = text, value["answer"]
    articles = {}
    for article, lines in texts.items():
        steps, before = [], ""
        for _, (text, answer) in sorted(lines.items()):
            steps.append((text.removeprefix(before).strip(), answer))
            before = text
        articles[article] = [(step, answer) for step, answer in steps if step]
    return articles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    articles = read_articles(args.archive)
    lines = [
        json.dumps({"id": article.removeprefix("www.wikihow.com/"), "steps": steps})
        for article, steps in articles.items()
        if 3 <= len(steps) <= 12
    ]
    args.output.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} procedures")


if __name__ == "__main__":
    main()
