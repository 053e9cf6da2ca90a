"""Fuzzing: random and mutated inputs are tracked, and their grids written in every format.

    python benchmarks/fuzz.py [--inputs 20000] [--seed 0] [--model small]

An input is a text (a bundled example with random changes, or random letters) and entities (random
names, or none, so that they are found). Input that koala refuses with a KoalaError is fine. Any
other exception, an inconsistent grid, or an input that takes longer than ten seconds is counted as
a failure and leads to exit code 1.
"""

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter

from koala.bundled.examples import list_examples, read_example
from koala.display import render, render_page
from koala.display.graph import render_dot, render_mermaid
from koala.errors import KoalaError
from koala.grid import Grid
from koala.registry import load

_LETTERS = (
    "abcdefghijklmnopqrstuvwxyz    ....,,,;;:!?'\"()[]{}<>|`*_#~-–—/\\&%$§@^=+0123456789\t\n\r"
    "äöüßéñçøłžЖдшабвгمرحباשלום你好世界こんにちは한국어🙂🧪\u200b\u202e\u0301\ufeff\u2028\x00\x07\x1b"
)
_SNIPPETS = (
    "<script>alert(1)</script>", "<b>", "</td>", "```", "# Heading", "- item", "1. ", "Step 3: ",
    "| a | b |", "> quote", "[link](http://x)", "**bold**", "&amp;", "%%", "end", "-->",
    "subgraph x", "\n\n\n", "?", "-", "; ", "water", "the", "is created", "moves to the",
    "in the", "NONE", "null",
)  # fmt: skip


def mutate(text: str, rng: random.Random) -> str:
    """Change a text at random positions."""
    for _ in range(rng.choice((0, 1, 2, 5, 20))):
        here, there = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:here] + rng.choice(_LETTERS) + text[here:]
        elif kind == 1:
            text = text[:here] + rng.choice(_SNIPPETS) + text[here:]
        elif kind == 2:
            text = text[:here] + text[here + 1 :]
        elif kind == 3:
            words = text.split(" ")
            rng.shuffle(words)
            text = " ".join(words)
        elif kind == 4 and there - here < 400:
            text = text[:there] + text[here:there] + text[there:]
        elif kind == 5 and there - here < 200:
            text = text[:here] + text[there:]
    return text


def build_input(rng: random.Random, texts: list[str]) -> tuple[str, list[str] | None]:
    kind = rng.random()
    if kind < 0.7:
        text = mutate(rng.choice(texts), rng)
    elif kind < 0.95:
        text = "".join(rng.choice(_LETTERS) for _ in range(rng.choice((0, 1, 5, 50, 300))))
    else:
        text = mutate("\n".join(rng.choices(texts, k=rng.randint(2, 6))), rng)
    if rng.random() < 0.3:
        return text, None
    words = text.split() or [""]
    names = [rng.choice([*words, *_SNIPPETS, "".join(rng.choices(_LETTERS, k=4))])
             for _ in range(rng.randint(0, 4))]  # fmt: skip
    return text, names


def check(grid: Grid) -> None:
    """Check that a grid is consistent, can be written in every format, and read from JSON."""
    for row in grid.rows:
        if row.problem:
            raise AssertionError(f"inconsistent row {row.name!r}: {row.problem}")
    if Grid.from_json(grid.to_json()) != grid:
        raise AssertionError("the grid read from its JSON differs")
    for line in grid.to_tsv().splitlines():
        if line.count("\t") != 5:
            raise AssertionError(f"a TSV line has not six columns: {line!r}")
    grid.to_csv()
    render(grid)
    page = render_page([grid])
    if "<script" in page.lower():
        raise AssertionError("the page contains a script")
    render_mermaid([grid])
    render_dot([grid])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="small")
    args = parser.parse_args()
    tracker = load(args.model, n_threads=1)
    texts = ["\n".join(read_example(name).steps) for name in list_examples()]
    texts += [text.replace("\n", " ") for text in texts]
    rng = random.Random(args.seed)
    counts: Counter[str] = Counter()
    slowest, started = 0.0, time.time()
    for number in range(args.inputs):
        text, names = build_input(rng, texts)
        begun = time.perf_counter()
        try:
            if number % 10 == 0:
                grid = tracker.explain(text, names).grid
            else:
                grid = tracker.track(text, names)
            check(grid)
            counts["tracked"] += 1
        except KoalaError:
            counts["refused"] += 1
        except Exception:
            counts["failed"] += 1
            print(json.dumps({"text": text, "entities": names}), file=sys.stderr)
            traceback.print_exc()
        taken = time.perf_counter() - begun
        slowest = max(slowest, taken)
        counts["too slow"] += taken > 10
    report = {"inputs": args.inputs, "seed": args.seed, "model": tracker.card.signature, **counts}
    report |= {
        "slowest_seconds": round(slowest, 2),
        "minutes": round((time.time() - started) / 60, 1),
    }
    print(json.dumps(report))
    sys.exit(bool(counts["failed"] or counts["too slow"]))


if __name__ == "__main__":
    main()
