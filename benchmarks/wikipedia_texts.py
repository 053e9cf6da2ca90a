"""Retrieved paragraphs that read like procedures: unlabelled text to learn from.

    KOALA_DATA=… python benchmarks/wikipedia_texts.py retrieved.jsonl -o texts.jsonl [--rank 15]

`retrieved.jsonl` comes from `koala wikipedia retrieve`; only what was found for the texts of the
training split is taken. A procedure has 3 to 11 sentences of 3 to 28 words, hardly any names and no
years, and most of its sentences say what happens, not what happened. Entities are left to whoever
tracks the texts: `koala predict --input` finds them.
"""

import argparse
import json
import os
import re
from pathlib import Path

from koala.corpora import read_corpus
from koala.document import Procedure, Step, annotate

_NUMBER = re.compile(r"\d{3,}|\d[.,]\d")
_MOST_NAMES, _LEAST_PLAIN = 0.05, 0.5


def is_procedure(steps: tuple[Step, ...]) -> bool:
    if not all(3 <= len(step.words) <= 28 for step in steps):
        return False
    words = [word for step in steps for word in step.words]
    n_names = sum(word.pos == "PROPN" for word in words)
    n_plain = sum(map(is_plain, steps))
    return n_names <= _MOST_NAMES * len(words) and n_plain >= _LEAST_PLAIN * len(steps)


def is_plain(step: Step) -> bool:
    """Tell whether the first full verb of a step is in the present, active or passive."""
    for index in step.verbs:
        word = step.words[index]
        form, lemma = word.text.lower(), word.lemma
        if form in (lemma, f"{lemma}s", f"{lemma}es", f"{lemma[:-1]}ies"):
            return True
        before = {each.text.lower() for each in step.words[max(0, index - 2) : index]}
        return bool(before & {"is", "are", "be", "gets", "get"})
    return False


def read_texts(path: Path, queries: set[str], rank: int) -> dict[str, str]:
    """Give ids by text; of equal texts the first counts."""
    texts: dict[str, str] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            value = json.loads(line)
            text = " ".join(value["text"].split())
            if value["query"] in queries and value["rank"] <= rank and not _NUMBER.search(text):
                texts.setdefault(text, f"{value['query']}-{value['rank']}")
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("retrieved", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--rank", type=int, default=15)
    args = parser.parse_args()
    train = read_corpus(Path(os.environ["KOALA_DATA"], "propara")).splits["train"]
    texts = read_texts(args.retrieved, {e.procedure.id for e in train}, args.rank)
    split = [Procedure.from_text(text, id=id) for text, id in texts.items()]
    fitting = [p for p in split if 3 <= len(p.steps) <= 11]
    chosen = [p for p in annotate(fitting) if is_procedure(p.steps)]
    lines = [json.dumps({"id": p.id, "steps": [step.text for step in p.steps]}) for p in chosen]
    args.output.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    print(f"{len(texts)} paragraphs, {len(chosen)} procedures")


if __name__ == "__main__":
    main()
