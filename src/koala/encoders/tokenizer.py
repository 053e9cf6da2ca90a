"""The subwords of an encoder: WordPiece, byte-level BPE, or SentencePiece."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from koala.encoders.windows import load_tokenizer
from koala.errors import FileError, KoalaError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# MPNet's vocabulary has BERT's names as well, which it was never trained on: its own come first.
_SPECIAL = (
    ("<s>", "</s>", "<pad>", "<mask>", "[UNK]"),
    ("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"),
)


class SubwordTokenizer:
    """The tokenizer of an encoder, from its `tokenizer.json`; without a folder, BERT's."""

    def __init__(self, folder: Path | None) -> None:
        self._tokenizer = _load_tokenizer(folder) if folder else load_tokenizer()
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        names = next((row for row in _SPECIAL if all(n in vocabulary for n in row[:4])), None)
        if names is None:
            raise KoalaError(f"The tokenizer of {folder} has neither [MASK] nor <mask>.")
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
        """Give the subwords of each word, without special ones."""
        if self._is_word_piece:
            encoding = self._tokenizer.encode(
                list(words), is_pretokenized=True, add_special_tokens=False
            )
            owners = encoding.word_ids
        else:
            # Other kinds mark where a word begins, so they must see the spaces between words.
            encoding = self._tokenizer.encode(" ".join(words), add_special_tokens=False)
            owners = _find_owners(words, encoding.offsets)
        subwords: list[list[int]] = [[] for _ in words]
        for subword, word in zip(encoding.ids, owners, strict=True):
            if word is not None:
                subwords[word].append(subword)
        return [tuple(each) for each in subwords]


def _find_owners(words: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[int | None]:
    """Give the word of each subword, by character offsets in the words joined by spaces.

    A subword may begin with the space in front of its word, or be that space alone.
    """
    owner: list[int] = []
    for number, word in enumerate(words):
        # The space in front of a word is its own.
        owner += [number] * (len(word) + bool(number))
    return [owner[end - 1] if start < end else None for start, end in offsets]


@lru_cache(maxsize=4)
def _load_tokenizer(folder: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise FileError(path, "no such file; an encoder needs its tokenizer.json.")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
