"""Hashes of the words and bigrams of many texts at once, the same on every machine."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from koala.text.nlp import is_content

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_N_CHARACTERS = 0x110000

# Parts of "plant's", "don't", "they're" after splitting at the apostrophe.
_CONTRACTED = frozenset(
    {"aren", "couldn", "d", "didn", "doesn", "don", "hasn", "haven", "isn", "ll", "m", "re", "s"}
    | {"shouldn", "t", "ve", "wasn", "weren", "wouldn"}
)


def hash_ngrams(texts: Sequence[str]) -> tuple[Integers, Hashes]:
    """Return the text's index and the hash of every unigram and bigram, in no particular order.

    Words are runs of letters and digits; stop words are left out. A bigram is two content words
    with only white space between them. Hashes are the same in every run and on every machine.
    """
    lowered = [text.lower() for text in texts]
    codes = np.frombuffer(" ".join(lowered).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    is_letter, is_mark = (table[codes] for table in _load_classes())
    edges = np.flatnonzero(np.diff(is_letter, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    words = _hash_words(codes[is_letter], ends - starts)
    first = np.cumsum([0, *(len(text) + 1 for text in lowered)])
    rows = np.searchsorted(first, starts, side="right") - 1
    content = ~look_up(words, _load_stop_hashes())[0]
    n_marks = np.cumsum(is_mark)
    pairs = content[:-1] & content[1:] & (rows[:-1] == rows[1:])
    pairs &= n_marks[ends[:-1] - 1] == n_marks[starts[1:]]
    bigrams = _mix(words[:-1][pairs]) + words[1:][pairs]
    hashes = np.concatenate((words[content], bigrams))
    return np.concatenate((rows[content], rows[:-1][pairs])), hashes


def _hash_words(letters: NDArray[np.uint32], lengths: Integers) -> Hashes:
    """Hash runs of letters: mix the sum of letter hash times position hash."""
    if not len(lengths):
        return np.zeros(0, dtype=np.uint64)
    first = np.cumsum(lengths) - lengths
    within = np.arange(len(letters)) - np.repeat(first, lengths)
    by_position = _mix(np.arange(lengths.max(), dtype=np.uint64)) | 1
    return _mix(np.add.reduceat(_load_letter_hashes()[letters] * by_position[within], first))


def _mix(values: Hashes) -> Hashes:
    """Mix the 64 bits of each value: the last step of SplitMix64 (Steele et al., 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@lru_cache(maxsize=1)
def _load_letter_hashes() -> Hashes:
    return _mix(np.arange(1 << 40, (1 << 40) + _N_CHARACTERS, dtype=np.uint64))


@lru_cache(maxsize=1)
def _load_classes() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for every character whether it is part of a word, and whether it breaks a bigram."""
    is_letter, is_space = (
        np.fromiter(map(test, map(chr, range(_N_CHARACTERS))), bool, _N_CHARACTERS)
        for test in (str.isalnum, str.isspace)
    )
    is_space[ord("_")] = True
    return is_letter, ~is_letter & ~is_space


@lru_cache(maxsize=1)
def _load_stop_hashes() -> Hashes:
    from spacy.lang.en.stop_words import STOP_WORDS

    words = sorted(_CONTRACTED | {w for w in STOP_WORDS if w.isalnum() and not is_content(w)})
    letters = np.frombuffer("".join(words).encode("utf-32-le"), dtype=np.uint32)
    return np.sort(_hash_words(letters, np.array([len(word) for word in words])))


def look_up(hashes: Hashes, table: Hashes) -> tuple[NDArray[np.bool_], Integers]:
    """Return which hashes are in a sorted table, and their index in it."""
    if not len(table):
        return np.zeros(len(hashes), dtype=bool), np.zeros(len(hashes), dtype=np.int64)
    indices = np.minimum(np.searchsorted(table, hashes), len(table) - 1)
    return table[indices] == hashes, indices
