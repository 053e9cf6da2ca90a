"""Correct part-of-speech tags: in one of fifteen short steps the tagger takes a verb for a noun."""

from collections.abc import Sequence
from dataclasses import replace

from koala.text.nlp import Word

NOUNS = frozenset({"NOUN", "PROPN"})
MODIFIERS = NOUNS | {"ADJ"}

_VERBS = frozenset({"VERB", "AUX"})
_DETERMINERS = frozenset({"DET", "NUM", "PRON"})
_AFTER_RESULTS = frozenset({"PUNCT", "CCONJ", "SCONJ", "ADP"})
_AFTER_VERBS = frozenset({"PUNCT", "CCONJ", "SCONJ", "ADP", "ADV", "DET", "PRON"})
# Intransitive verbs, as in "Ice forms inside a cloud": hardly ever the end of a noun phrase.
_INTRANSITIVE = frozenset(
    {"burn", "change", "collapse", "die", "erupt", "explode", "fall", "flow", "form", "freeze"}
    | {"germinate", "grow", "melt", "move", "rise", "separate", "sink", "spin", "split", "travel"}
)
# Substances that the tagger takes for verbs after *to*: "The steam condenses to water."
_SUBSTANCES = frozenset(
    {"ash", "dust", "foam", "gas", "ice", "mud", "oil", "powder", "salt", "smoke", "steam", "water"}
)


def correct_tags(words: Sequence[Word]) -> tuple[Word, ...]:
    """Retag as NOUN substances after *to*, and as VERB the noun that must be a verb, if any."""
    words = [
        replace(word, pos="NOUN") if _is_result(words, index) else word
        for index, word in enumerate(words)
    ]
    verb = _find_verb(words)
    if verb is None:
        return tuple(words)
    return (*words[:verb], replace(words[verb], pos="VERB"), *words[verb + 1 :])


def _is_result(words: Sequence[Word], index: int) -> bool:
    """Return whether a verb is a noun that says what something turns to: "It burns to ash."."""
    word = words[index]
    if word.pos != "VERB" or word.text.lower() not in _SUBSTANCES or index < 2:
        return False
    following = words[index + 1].pos if index + 1 < len(words) else "PUNCT"
    return words[index - 1].text.lower() == "to" and following in _AFTER_RESULTS


def _find_verb(words: Sequence[Word]) -> int | None:
    end = next((i for i, word in enumerate(words) if word.pos not in MODIFIERS), len(words))
    following = words[end].pos if end < len(words) else ""
    if end == 1 and following == "DET":  # "Heat the oil until it boils."
        return 0
    if (verb := _find_singular_subject(words)) is not None:
        return verb
    if any(word.pos in _VERBS for word in words):
        return None
    for index in range(1, end):  # "Ice forms inside a cloud."
        if words[index].lemma in _INTRANSITIVE:
            return index
    is_imperative = end and following in _DETERMINERS | {"ADP"} and not _is_plural(words[0])
    if is_imperative and words[end].text.lower() != "of":
        return 0  # "Place cake pan into the oven."
    return _find_disagreement(words)


def _find_singular_subject(words: Sequence[Word]) -> int | None:
    """Find the verb after a subject with *a*: "A swan hisses and the kids run off."

    No noun phrase begins with *a* and ends in a plural.
    """
    is_open = False
    for index, word in enumerate(words[:-1]):
        is_end = words[index + 1].pos in _AFTER_VERBS and words[index + 1].text.lower() != "of"
        are_nouns = is_open and word.pos == "NOUN" and words[index - 1].pos in NOUNS
        if are_nouns and is_end and word.text.lower().endswith("s") and _is_plural(word):
            return index
        is_open = word.text.lower() in ("a", "an") or (is_open and word.pos in MODIFIERS)
    return None


def _find_disagreement(words: Sequence[Word]) -> int | None:
    """Find the second of two nouns that cannot form one phrase: "The seed germinates."

    They follow a determiner, and exactly one of them is plural.
    """
    is_open = False  # whether only adjectives and nouns came since the last determiner
    for index, word in enumerate(words):
        before = words[index - 1]
        are_nouns = is_open and before.pos in NOUNS and word.pos in NOUNS
        if are_nouns and _is_plural(before) != _is_plural(word):
            return index
        is_open = word.pos in _DETERMINERS or (is_open and word.pos in MODIFIERS)
    return None


def _is_plural(word: Word) -> bool:
    return word.text.lower() != word.lemma
