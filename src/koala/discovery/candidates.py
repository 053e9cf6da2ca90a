"""Candidate entities of a text: its noun phrases, clustered by head noun."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from koala.discovery.tags import MODIFIERS, NOUNS
from koala.document import Step
from koala.text.nlp import Word

# Adjectives that count or compare but do not distinguish entities: "more water", "the same cell".
_VAGUE = frozenset(
    {"additional", "certain", "different", "entire", "enough", "few", "final", "first", "last"}
    | {"many", "more", "most", "much", "multiple", "next", "other", "own", "remaining", "same"}
    | {"second", "several", "single", "such", "sure", "third", "various", "whole"}
)
# Pronouns and the like, which the tagger sometimes takes for nouns.
_PRONOUNS = frozenset({"anything", "everything", "it", "lot", "nothing", "one", "something"})
# Units of measurement after a number: "20 minutes", "60 μl beads".
_UNITS = frozenset(
    {"second", "sec", "s", "minute", "min", "hour", "hr", "h", "day", "week", "month", "year"}
    | {"millimeter", "mm", "centimeter", "cm", "meter", "m", "kilometer", "km", "mile", "yard"}
    | {"inch", "in", "foot", "feet", "ft", "degree", "deg", "°", "°c", "°f", "ºc", "c", "f"}
    | {"gram", "g", "mg", "μg", "µg", "ug", "ng", "kilogram", "kg", "ounce", "oz", "pound", "lb"}
    | {"liter", "litre", "l", "ml", "μl", "µl", "ul", "cup", "pint", "quart", "gallon", "percent"}
    | {"teaspoon", "tsp", "tablespoon", "tbsp", "mol", "mm", "μm", "µm", "um", "nm", "rpm", "xg"}
    | {"fold", "mph", "psi", "time", "volt", "watt", "x", "%"}
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun phrase in a step without its determiner, as word indices."""

    step: int
    start: int
    head: int
    """The head noun."""
    last: int
    """Equal to `head`, or the noun of a following *of* phrase: "layers of the sediment"."""


@dataclass(frozen=True, slots=True)
class CandidateEntity:
    """A cluster of noun phrases that may be an entity worth tracking."""

    name: str
    """All its forms in the text, joined like aliases, the most frequent one first."""
    mentions: tuple[Mention, ...]


def find_candidate_entities(steps: Sequence[Step]) -> tuple[CandidateEntity, ...]:
    """Cluster the noun phrases of annotated steps, in order of first mention.

    Phrases with the same head noun form one cluster ("crude oil" and "oil"), unless the text
    distinguishes several by their modifiers ("hot water", "cold water").
    """
    by_noun: dict[str, list[Mention]] = {}
    for number, step in enumerate(steps):
        for mention in find_mentions(step.words, number):
            by_noun.setdefault(step.words[mention.head].lemma, []).append(mention)
    found = [each for mentions in by_noun.values() for each in _cluster(mentions, steps)]
    return tuple(sorted(found, key=lambda each: (each.mentions[0].step, each.mentions[0].head)))


def find_mentions(words: Sequence[Word], step: int = 0) -> list[Mention]:
    """Find the noun phrases of a step, in order."""
    phrases = _find_phrases(words)
    lasts = [head for _, head in phrases]
    for number, ((_, head), (start, _)) in enumerate(pairwise(phrases)):
        if _is_of(words[head + 1 : start]):
            lasts[number] = phrases[number + 1][1]
    return [Mention(step, *phrase, last) for phrase, last in zip(phrases, lasts, strict=True)]


def _is_of(between: Sequence[Word]) -> bool:
    """Return whether the words between two phrases are "of", "of the" or the like."""
    first, *others = [word.text.lower() for word in between] or [""]
    return first == "of" and all(
        other.isalpha() and word.pos in ("DET", "PRON")
        for other, word in zip(others, between[1:], strict=True)
    )


def _find_phrases(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Find noun phrases, each as the indices of its first word and its head noun."""
    is_part = [
        word.pos in MODIFIERS and _may_name(word) and not is_measure(words, index)
        for index, word in enumerate(words)
    ]
    phrases = []
    start = None
    for index, word in enumerate(words):
        if not is_part[index] or word.lemma in _VAGUE:
            start = None
            continue
        start = index if start is None else start
        is_last = index + 1 == len(words) or not (
            is_part[index + 1] and words[index + 1].pos in NOUNS
        )
        if word.pos in NOUNS and is_last:
            if word.lemma not in _PRONOUNS:
                phrases.append((start, index))
            start = None
    return phrases


def _may_name(word: Word) -> bool:
    # Recipes have "-lrb-" for a bracket, protocols "27ul"; a semicolon would split the name.
    return word.text[0].isalpha() and ";" not in word.text


def is_measure(words: Sequence[Word], index: int) -> bool:
    """Return whether a word is a number or a unit after one: "60 μl", "12-inch", "27ul"."""
    word = words[index]
    if word.pos == "NUM" or word.text[0].isdigit():
        return True
    if word.text.lower() not in _UNITS and word.lemma not in _UNITS:
        return False
    before = index - 1
    if before > 0 and words[before].text == "-":
        before -= 1
    return before >= 0 and (words[before].pos == "NUM" or words[before].text[-1].isdigit())


def _cluster(mentions: Sequence[Mention], steps: Sequence[Step]) -> list[CandidateEntity]:
    """Split the mentions of a noun by modifier if there are several and most mentions have one.

    A mention without a modifier then joins the candidate mentioned last, but its form does not
    become one of its names, because it would fit several candidates.
    """
    modifiers = [
        steps[m.step].words[m.head - 1].lemma if m.start < m.head else None for m in mentions
    ]
    distinct = list(dict.fromkeys(modifier for modifier in modifiers if modifier))
    if len(distinct) < 2 or 2 * modifiers.count(None) >= len(modifiers):
        return [CandidateEntity(_name(mentions, steps), tuple(mentions))]
    parts: dict[str, list[Mention]] = {modifier: [] for modifier in distinct}
    current = distinct[0]
    for modifier, mention in zip(modifiers, mentions, strict=True):
        current = modifier or current
        parts[current].append(mention)
    return [
        CandidateEntity(_name([m for m in part if m.start < m.head], steps), tuple(part))
        for part in parts.values()
    ]


def _name(mentions: Sequence[Mention], steps: Sequence[Step]) -> str:
    forms: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for mention in mentions:
        form = _form(steps[mention.step], mention)
        forms.setdefault(form.lower(), form)
        counts[form.lower()] += 1
    return "; ".join(forms[key] for key, _ in counts.most_common())


def _form(step: Step, mention: Mention) -> str:
    """Return the phrase as written inside a sentence: "Layers of sediment" is lower-cased."""
    form, end = "", step.words[mention.start].start
    for index in range(mention.start, mention.last + 1):
        word = step.words[index]
        is_name = word.pos == "PROPN" and index > 0
        has_capitals = word.text[1:] != word.text[1:].lower()
        form += step.text[end : word.start]
        form += word.text if is_name or has_capitals else word.text.lower()
        end = word.end
    return " ".join(form.split())
