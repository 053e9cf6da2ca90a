"""The subwords of an encoder: WordPiece, byte-level BPE, or SentencePiece."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from koala.encoders.windows import load_tokenizer
from koala.errors import FileError, KoalaError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# First, last, pad, mask, unknown. MPNet's row comes first: its vocabulary also has BERT's special
# tokens, which it was never trained on.
_SPECIAL = (
    ("<s>", "</s>", "<pad>", "<mask>", "[UNK]"),
    ("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"),
)


class SubwordTokenizer:
    """Splits words with an encoder's `tokenizer.json`, or with BERT's vocabulary without a folder.

    `first`, `last`, `pad` and `mask` are the ids of special tokens; `ordinary` holds all other ids.
    """

    def __init__(self, folder: Path | None) -> None:
        self._tokenizer = _load_tokenizer(folder) if folder else load_tokenizer()
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        names = next((row for row in _SPECIAL if all(n in vocabulary for n in row[:4])), None)
        if names is None:
            rows = " or ".join(" ".join(row[:4]) for row in _SPECIAL)
            raise KoalaError(f"The tokenizer of {folder} lacks special tokens, expected {rows}.")
        self.first, self.last, self.pad, self.mask = (vocabulary[name] for name in names[:4])
        self._is_word_piece = type(self._tokenizer.model).__name__ == "WordPiece"
        special = {"<unk>", *(name for row in _SPECIAL for name in row)}
        self.ordinary = tuple(
            sorted(
                number
                for subword, number in vocabulary.items()
                if subword not in special and not subword.startswith("[unused")
            )
        )

    def split(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the subword ids of each word, without special tokens."""
        if self._is_word_piece:
            encoding = self._tokenizer.encode(
                list(words), is_pretokenized=True, add_special_tokens=False
            )
            owners = encoding.word_ids
        else:
            # Other models mark where a word begins, so they must see the spaces between words.
            encoding = self._tokenizer.encode(" ".join(words), add_special_tokens=False)
            owners = _find_owners(words, encoding.offsets)
        subwords: list[list[int]] = [[] for _ in words]
        for subword, word in zip(encoding.ids, owners, strict=True):
            if word is not None:
                subwords[word].append(subword)
        return [tuple(each) for each in subwords]


def _find_owners(words: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[int | None]:
    """Return the word of each subword, by character offsets in the words joined by spaces.

    A subword may begin with the space before its word, or be that space alone.
    """
    owner: list[int] = []
    for number, word in enumerate(words):
        # The space before a word belongs to the word.
        owner += [number] * (len(word) + bool(number))
    return [owner[end - 1] if start < end else None for start, end in offsets]


@lru_cache(maxsize=4)
def _load_tokenizer(folder: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise FileError(path, "no such file. An encoder's folder must have a tokenizer.json.")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
