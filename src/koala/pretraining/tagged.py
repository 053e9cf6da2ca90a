"""Cache of tagged and tokenized texts in the folder of a run, for resuming it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koala.encoders.tokenizer import SubwordTokenizer
from koala.files import replacing
from koala.pretraining.examples import Progress, build_text_examples
from koala.pretraining.masking import Example

FILE = "examples.npz"

Ints = NDArray[np.int32]


def find_text_examples(
    folder: Path,
    texts: Sequence[str],
    subwords: SubwordTokenizer,
    *,
    longest: int,
    progress: Progress = lambda _done, _total: None,
) -> list[Example]:
    """Read the examples of these texts from the cache in `folder`, or build and cache them."""
    path = folder / FILE
    key = _key_of(texts, subwords, longest)
    if path.is_file():
        with np.load(path, allow_pickle=False) as tables:
            if str(tables["key"]) == key:
                return _unpack(
                    *(tables[name] for name in ("subwords", "lengths", "spans", "owners"))
                )
    examples = build_text_examples(texts, subwords, longest=longest, progress=progress)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, key=np.array(key), **_pack(examples))
    return examples


def _key_of(texts: Sequence[str], subwords: SubwordTokenizer, longest: int) -> str:
    digest = hashlib.sha256(repr((longest, subwords.first, len(subwords.ordinary))).encode())
    for text in texts:
        digest.update(text.encode(errors="surrogatepass") + b"\n")
    return digest.hexdigest()


def _pack(examples: Sequence[Example]) -> dict[str, Ints]:
    """Pack examples into arrays; a target becomes a span: first position and length."""
    spans = [(target[0], len(target)) for example in examples for target in example.targets]
    return {
        "subwords": np.array([p for example in examples for p in example.subwords], dtype=np.int32),
        "lengths": np.array([len(example.subwords) for example in examples], dtype=np.int32),
        "spans": np.array(spans, dtype=np.int32).reshape(-1, 2),
        "owners": np.array([len(example.targets) for example in examples], dtype=np.int32),
    }


def _unpack(subwords: Ints, lengths: Ints, spans: Ints, owners: Ints) -> list[Example]:
    rows = np.split(subwords, np.cumsum(lengths)[:-1])
    targets = np.split(spans, np.cumsum(owners)[:-1])
    return [
        Example(
            tuple(row.tolist()),
            tuple(tuple(range(start, start + size)) for start, size in target.tolist()),
        )
        for row, target in zip(rows, targets, strict=True)
    ]
