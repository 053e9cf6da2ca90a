"""Sample synthetic procedures from the steps of real ones, for benchmarks with many documents.

    KOALA_DATA=… python benchmarks/sample_procedures.py --n 10000 [--broken 0.05] > many.jsonl

A procedure consists of consecutive steps of one procedure of ProPara's train split, followed by a
few steps of another. Every second one names the entities of the first; for the others, koala has to
find them. With --broken, this share of the lines cannot be tracked: no text, wrong types, too long,
not UTF-8, empty or not JSON.
"""

import argparse
import json
import os
import random
import sys
from pathlib import Path

from koala.corpora import read_corpus

BROKEN = (
    b"",
    b"   ",
    b"no json",
    b'{"id": "cut", "text": "The water',
    b"[1, 2]",
    b'"text"',
    b"null",
    b'{"id": "no text"}',
    b'{"id": "empty", "text": ""}',
    b'{"id": "blank", "text": " \\n "}',
    b'{"id": "number", "text": 5}',
    b'{"id": "steps", "steps": "one"}',
    b'{"id": "steps", "steps": [1, 2]}',
    b'{"id": "entities", "text": "Water falls.", "entities": 7}',
    b'{"id": "entities", "text": "Water falls.", "entities": [null]}',
    b'{"id": "latin", "text": "caf\xe9 is made."}',
    b"\xff\xfe{}",
    json.dumps({"id": "long", "text": "Water falls. " * 20_000}).encode(),
    b'{"id": "huge", "text": "' + b"a" * (5 << 20) + b'"}',
    json.dumps({"id": "many", "text": "Water.", "entities": ["x"] * 1000}).encode(),
)
"""Lines that cannot be tracked."""


def sample(rng: random.Random, examples: list, number: int) -> dict[str, object]:
    """Make a procedure from consecutive steps of one example and a few steps of another."""
    first, second = rng.sample(examples, 2)
    steps = [step.text for step in first.procedure.steps]
    start = rng.randrange(max(1, len(steps) - 3))
    steps = steps[start : start + rng.randint(3, 8)]
    others = [step.text for step in second.procedure.steps]
    start = rng.randrange(len(others))
    steps += others[start : start + rng.randrange(3)]
    record: dict[str, object] = {"id": f"sampled-{number}", "source": first.procedure.id}
    record["text" if number % 4 < 2 else "steps"] = " ".join(steps) if number % 4 < 2 else steps
    if number % 2:
        record["entities"] = [entity.name for entity in first.procedure.entities]
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--broken", type=float, default=0.0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    examples = list(read_corpus(Path(os.environ["KOALA_DATA"], "propara")).splits["train"])
    n_broken = 0
    for number in range(args.n):
        if rng.random() < args.broken:
            line = BROKEN[n_broken % len(BROKEN)]
            n_broken += 1
        else:
            line = json.dumps(sample(rng, examples, number), ensure_ascii=False).encode()
        sys.stdout.buffer.write(line + b"\n")
    print(f"{args.n - n_broken} procedures, {n_broken} broken lines", file=sys.stderr)


if __name__ == "__main__":
    main()
