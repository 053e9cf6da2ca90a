"""Read the wikiHow texts of OpenPI, without its labels, for other benchmarks."""

import json
import tarfile
from pathlib import Path

_QUESTION = " Now, what happens?"


def read_articles(path: Path, split: str = "train") -> dict[str, list[str]]:
    """Give the steps of every article.

    In the file, each line repeats all earlier steps.
    """
    texts: dict[str, dict[int, str]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            if not member.name.endswith(f"{split}.jsonl"):
                continue
            for line in archive.extractfile(member):
                value = json.loads(line)
                article, _, number = value["id"].partition("||")
                texts.setdefault(article, {})[int(number)] = value["question"]
    return {article: _split_steps(lines) for article, lines in texts.items()}


def _split_steps(lines: dict[int, str]) -> list[str]:
    steps, before = [], ""
    for _, line in sorted(lines.items()):
        text = line.removesuffix(_QUESTION)
        steps.append(text.removeprefix(before).strip())
        before = text
    return [step for step in steps if step]
