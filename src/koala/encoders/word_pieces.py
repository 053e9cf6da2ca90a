"""The word pieces of an encoder, one way for all who read them."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from koala.encoders.pieces import load_tokenizer
from koala.errors import FileError, KoalaError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# MPNet's vocabulary has BERT's names as well, which it was never trained on: its own come first.
_SPECIAL = (
    ("<s>", "</s>", "<pad>", "<mask>", "[UNK]"),
    ("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"),
)


class WordPieces:
    """The word pieces of an encoder, by its `tokenizer.json`; without a folder, BERT's own."""

    def __init__(self, folder: Path | None) -> None:
        self._tokenizer = _load_tokenizer(folder) if folder else load_tokenizer()
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        names = next((row for row in _SPECIAL if all(n in vocabulary for n in row[:4])), None)
        if names is None:
            raise KoalaError(f"The tokenizer of {folder} has neither [MASK] nor <mask>.")
        self.first, self.last, self.pad, self.mask = (vocabulary[name] for name in names[:4])
        special = {name for row in _SPECIAL for name in row}
        self.ordinary = tuple(
            sorted(
                number
                for piece, number in vocabulary.items()
                if piece not in special and not piece.startswith("[unused")
            )
        )

    def split(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Give the pieces of each word, no special ones among them."""
        encoding = self._tokenizer.encode(
            list(words), is_pretokenized=True, add_special_tokens=False
        )
        pieces: list[list[int]] = [[] for _ in words]
        for piece, word in zip(encoding.ids, encoding.word_ids, strict=True):
            if word is not None:
                pieces[word].append(piece)
        return [tuple(each) for each in pieces]


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
