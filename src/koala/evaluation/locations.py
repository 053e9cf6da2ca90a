"""Comparison of location names, as each of the evaluations does it."""

import re
from functools import lru_cache
from typing import Any

from koala.grid.states import ABSENT, UNKNOWN
from koala.text.nlp import stem, stem_phrase

PUBLISHED = {ABSENT: "null", UNKNOWN: "unk"}
"""Names of `-` and `?` in the published scripts; files may use them, with the same score."""

# Ignored at the start of a location.
_DETERMINERS = re.compile(r"^(?:a|an|the|your|his|their|my|another|other|this|that) ")


@lru_cache(maxsize=65536)
def extract_locations(text: str) -> tuple[frozenset[str], ...]:
    """Split "a AND b OR c" into its terms, each a set of normalised alternatives.

    >>> [sorted(term) for term in extract_locations("The ponds AND lake OR a river")]
    [['pond'], ['lake', 'river']]
    """
    return tuple(
        frozenset(normalize_location(option) for option in term.split(" OR "))
        for term in text.split(" AND ")
    )


def normalize_location(location: str) -> str:
    """Lower-case, drop a leading determiner, stem the phrase as if it were one word.

    This is how the official script stems: only the last word can change.
    """
    return stem(_DETERMINERS.sub("", location.strip().lower()))


@lru_cache(maxsize=65536)
def stem_words(location: str) -> tuple[str, ...]:
    """Stem each word with Porter2, as the sentence-level evaluator does."""
    return tuple(_porter2().stem(word) for word in location.split())


def is_inside(location: str, other: str) -> bool:
    """Tell whether the stemmed words of a location are a contiguous part of another's.

    >>> is_inside("ponds", "small pond"), is_inside("small pond", "pond")
    (True, False)
    """
    inner, outer = stem_words(location), stem_words(other)
    if not inner:
        return False
    starts = range(len(outer) - len(inner) + 1)
    return any(outer[start : start + len(inner)] == inner for start in starts)


def is_alike(location: str, other: str) -> bool:
    """Tell whether two locations are equal up to word endings, articles and modifiers.

    >>> is_alike("drying cabinet", "the cabinets"), is_alike("spin column", "collection tube")
    (True, False)
    """
    if ABSENT in (location, other) or UNKNOWN in (location, other):
        return location == other
    one, two = _stem_location(location), _stem_location(other)
    n = min(len(one), len(two))
    return n > 0 and one[-n:] == two[-n:]


def _stem_location(location: str) -> tuple[str, ...]:
    return stem_phrase(_DETERMINERS.sub("", location.strip().lower()))


@lru_cache(maxsize=1)
def _porter2() -> Any:  # noqa: ANN401
    # Imported late, because it takes half a second.
    from nltk.stem.snowball import EnglishStemmer

    return EnglishStemmer()
