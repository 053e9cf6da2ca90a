"""Location candidates: the noun phrases of a text, where an entity may be."""

from collections.abc import Sequence

from koala.document.mentions import forms_of
from koala.document.types import Candidate, Span, Step
from koala.text.nlp import NOUNS, Word

# Parts of speech that may modify a noun: "large intestine", "Mississippi delta", "recycling bin".
_MODIFIERS = NOUNS | {"ADJ"}
# Parts of speech that precede a participle that modifies a noun: "in a weighed crucible".
_BEFORE_PHRASES = frozenset({"DET", "ADP", "ADJ"})
# Adverbs that ProPara's annotators use as locations: "the plants are one mile underground".
_LOCATION_ADVERBS = frozenset(
    {"above", "ashore", "below", "downstream", "downward", "elsewhere", "indoors", "inside"}
    | {"outdoors", "outside", "overhead", "underground", "underwater", "upstream", "upward"}
)


def find_candidates(
    steps: Sequence[Step], *, has_phrases: bool = True, has_pairs: bool = True
) -> tuple[Candidate, ...]:
    """Find the locations where an entity may be: the nouns and noun phrases of the text.

    For every noun: the noun with all adjectives and nouns to its left, and each shorter tail; also
    "noun and noun", "noun or noun", "noun of noun" and "noun of the noun". In addition to the
    published rule: possessives ("earth 's crust"), participles ("recycling bin") and a few adverbs
    ("underground"). Without `has_phrases`, only single nouns; without `has_pairs`, no "noun and
    noun" and "noun or noun".
    """
    mentions: dict[str, list[Span]] = {}
    for number, step in enumerate(steps):
        for start, end in _candidate_spans(
            step.words, has_phrases=has_phrases, has_pairs=has_pairs
        ):
            if end - start > 1 and not has_phrases:
                continue
            name = _location_name(step.words[start:end])
            mentions.setdefault(name, []).append(Span(number, start, end))
    return tuple(
        Candidate(name, tuple(spans), text=surface_of(steps, spans[0]))
        for name, spans in mentions.items()
    )


def surface_of(steps: Sequence[Step], span: Span) -> str:
    """Give a span as the step writes it; at the start of a sentence, without the capital."""
    step = steps[span.step]
    first = step.words[span.start]
    text = step.text[first.start : step.words[span.end - 1].end]
    starts_sentence = span.start == 0 or step.words[span.start - 1].text in _SENTENCE_ENDS
    if starts_sentence and first.pos != "PROPN" and first.text[1:].islower():
        text = text[0].lower() + text[1:]
    return " ".join(text.split())


def _location_name(words: Sequence[Word]) -> str:
    """Name a location by its lemmas, as gold grids do: "sorting centers" is "sort center"."""
    lemmas = [word.verb_lemma or word.lemma for word in words[:-1]]
    last = words[-1].lemma
    # "upwards" and "upward" are the same location.
    adverb = last.removesuffix("s")
    return " ".join([*lemmas, adverb if adverb in _LOCATION_ADVERBS else last])


_SENTENCE_ENDS = frozenset({".", "!", "?", ":", ";"})

_LONGEST_LOCATION = 16
"""In words; the longest noun phrase of ProPara's train and dev texts has eleven."""


def _candidate_spans(
    words: Sequence[Word], *, has_phrases: bool, has_pairs: bool
) -> list[tuple[int, int]]:
    spans: set[tuple[int, int]] = set()
    for last, word in enumerate(words):
        if word.text.lower() in _LOCATION_ADVERBS or word.text.lower().removesuffix("s") in (
            _LOCATION_ADVERBS
        ):
            spans.add((last, last + 1))
        # Without phrases (recipes), mistagged locations are found by `add_known` instead.
        if word.pos not in NOUNS and not (has_phrases and _is_mistagged(words, last)):
            continue
        start = last
        spans.add((start, last + 1))
        while start > 0 and last + 1 - start < _LONGEST_LOCATION and _may_modify(words, start - 1):
            start -= 1
            if words[start].pos != "PART" and not _is_hyphen(words[start]):
                spans.add((start, last + 1))
        if last + 1 < len(words) and words[last + 1].text.isdecimal():
            # "flask 2"
            spans.add((last, last + 2))
        joined = _joined_start(words, start, has_pairs=has_pairs)
        if joined is not None:
            spans.add((joined, last + 1))
    # A punctuation mark may be tagged as a noun, but `-` and `?` have a meaning in grids.
    valid = [s for s in spans if _has_letter(words[s[0]]) and _has_letter(words[s[1] - 1])]
    return sorted(valid, key=lambda span: (span[0], -span[1]))


def _has_letter(word: Word) -> bool:
    """Tell whether a word has a letter or a digit."""
    return any(letter.isalnum() for letter in word.text)


def _may_modify(words: Sequence[Word], index: int) -> bool:
    """Tell whether a word may be part of the noun phrase to its right."""
    word, before = words[index], words[index - 1] if index else None
    if word.pos in _MODIFIERS:
        return True
    if before is None:
        return word.pos == "VERB" and word.text.lower().endswith("ing")
    if word.text.lower() in ("'s", "’s"):
        return before.pos in NOUNS
    if _is_hyphen(word):
        # "round-bottomed flask", not "flask - then"
        return before.end == word.start and _has_letter(before)
    if index + 1 < len(words) and _is_hyphen(words[index + 1]):
        return word.end == words[index + 1].start and _has_letter(word)
    if word.pos == "NUM":
        # "50 ml tube"
        return word.text[0].isdecimal()
    if word.pos != "VERB":
        return False
    form = word.text.lower()
    # "drying cabinet"; "the tared tube", but not "water heated steam".
    return form.endswith("ing") or (form.endswith("ed") and before.pos in _BEFORE_PHRASES)


def _is_hyphen(word: Word) -> bool:
    return word.text in ("-", "‐", "‑")


def _is_mistagged(words: Sequence[Word], index: int) -> bool:
    """Tell whether a word must be a noun by its context: "in the still", "into an oven."."""
    word = words[index]
    if word.pos not in ("VERB", "ADJ", "ADV", "INTJ", "X") or not _has_letter(word):
        return False
    if index == 0 or words[index - 1].text.lower() not in ("a", "an", "the"):
        return False
    following = words[index + 1] if index + 1 < len(words) else None
    return following is None or following.pos in ("PUNCT", "ADP", "CCONJ", "PRON", "SCONJ", "AUX")


def _joined_start(words: Sequence[Word], start: int, *, has_pairs: bool) -> int | None:
    """Give the index of a noun joined to a noun phrase by "and", "or", "of" or "of the"."""
    before = [word.text.lower() for word in words[max(0, start - 2) : start]]
    if before[-1:] == ["of"] or (has_pairs and before[-1:] in (["and"], ["or"])):
        noun = start - 2
    elif before == ["of", "the"]:
        noun = start - 3
    else:
        return None
    return noun if noun >= 0 and words[noun].pos in NOUNS else None


def add_known(
    candidates: tuple[Candidate, ...], known: Sequence[str], steps: Sequence[Step]
) -> tuple[Candidate, ...]:
    """Number the candidates that are known locations, and add known locations that are missing.

    Known locations are searched again in the words, as the tagger may not have tagged them as
    nouns: "preheat oven".
    """
    number = {name: i for i, name in enumerate(known, 1)}
    found: dict[str, list[Span]] = {}
    for i, step in enumerate(steps):
        for index, word in enumerate(step.words):
            for name in forms_of(word) & number.keys() if _has_letter(word) else ():
                found.setdefault(name, []).append(Span(i, index, index + 1))
    others = tuple(c for c in candidates if c.name not in number)
    return others + tuple(Candidate(n, tuple(found.get(n, ())), i) for n, i in number.items())
