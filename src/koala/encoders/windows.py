"""Words → subwords, in windows that fit an encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import BertWordPieceTokenizer

LONGEST = 256
"""Maximum subwords of a window; longer texts are encoded in several windows."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text that is encoded at once."""

    text: int
    """Index of the text."""
    subwords: tuple[int, ...]
    """Ids of [CLS], the subwords, [SEP]."""
    words: tuple[int | None, ...]
    """Index of each subword's word in the text; None: special token."""


@lru_cache(maxsize=1)
def load_tokenizer() -> "BertWordPieceTokenizer":
    """Build BERT's uncased WordPiece tokenizer from the vocabulary that koala ships."""
    from tokenizers import BertWordPieceTokenizer

    lines = resources.files(__package__).joinpath("vocabulary.txt").read_text("utf-8")
    vocabulary = {subword: number for number, subword in enumerate(lines.rstrip("\n").split("\n"))}
    return BertWordPieceTokenizer(vocab=vocabulary, lowercase=True)


def split_subwords(texts: Sequence[Sequence[str]]) -> list[Window]:
    """Cut texts, given as words, into windows.

    A word is in exactly one window, unless the word alone is longer than a window.
    """
    tokenizer = load_tokenizer()
    first, last = (int(tokenizer.token_to_id(name) or 0) for name in ("[CLS]", "[SEP]"))
    encodings = tokenizer.encode_batch(
        [list(words) for words in texts], is_pretokenized=True, add_special_tokens=False
    )
    windows = []
    for text, encoding in enumerate(encodings):
        for start, end in _cut(encoding.word_ids):
            subwords = (first, *encoding.ids[start:end], last)
            windows.append(Window(text, subwords, (None, *encoding.word_ids[start:end], None)))
    return windows


def _cut(word_ids: Sequence[int | None]) -> list[tuple[int, int]]:
    """Cut between words into at most LONGEST subwords each; longer words are cut inside."""
    cuts = []
    start = 0
    while start < len(word_ids):
        end = min(start + LONGEST, len(word_ids))
        if end < len(word_ids):
            between = end
            while between > start and word_ids[between] == word_ids[between - 1]:
                between -= 1
            end = between if between > start else end
        cuts.append((start, end))
        start = end
    return cuts
