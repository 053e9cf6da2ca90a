"""Words of the steps → the things they name: noun phrases, those of one thing together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from koala.discovery.tags import MODIFIERS, NOUNS
from koala.document import Step
from koala.text.nlp import Word

# Adjectives that count or compare and tell no two things apart: "more water", "the same cell".
_VAGUE = frozenset(
    {"additional", "certain", "different", "entire", "enough", "few", "final", "first", "last"}
    | {"many", "more", "most", "much", "multiple", "next", "other", "own", "remaining", "same"}
    | {"second", "several", "single", "such", "sure", "third", "various", "whole"}
)
# Nouns that stand for another, as pronouns do; tagged as nouns now and then.
_PRONOUNS = frozenset({"anything", "everything", "it", "lot", "nothing", "one", "something"})
# What is counted after a number is a measure: "20 minutes", "60 μl beads".
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
    """A noun phrase in a step without its determiner, by the numbers of its words."""

    step: int
    start: int
    head: int
    """The noun."""
    last: int
    """The noun too, or that of a phrase with *of* behind it: "layers of the sediment"."""


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that a text names, and where it does."""

    name: str
    """Every form it has in the text, joined as aliases are; the most frequent one first."""
    mentions: tuple[Mention, ...]


def find_things(steps: Sequence[Step]) -> tuple[Thing, ...]:
    """Find all things in order of first mention.

    Phrases with the same noun are one thing, as "crude oil" and "oil" are, unless the text tells
    several of them apart ("hot water", "cold water").
    """
    by_noun: dict[str, list[Mention]] = {}
    for number, step in enumerate(steps):
        for mention in find_mentions(step.words, number):
            by_noun.setdefault(step.words[mention.head].lemma, []).append(mention)
    things = [thing for mentions in by_noun.values() for thing in _build_things(mentions, steps)]
    return tuple(sorted(things, key=lambda thing: (thing.mentions[0].step, thing.mentions[0].head)))


def find_mentions(words: Sequence[Word], step: int = 0) -> list[Mention]:
    """Find the noun phrases of a step in their order."""
    phrases = _find_phrases(words)
    lasts = [head for _, head in phrases]
    for number, ((_, head), (start, _)) in enumerate(pairwise(phrases)):
        if _is_of(words[head + 1 : start]):
            lasts[number] = phrases[number + 1][1]
    return [Mention(step, *phrase, last) for phrase, last in zip(phrases, lasts, strict=True)]


def _is_of(between: Sequence[Word]) -> bool:
    """Tell whether two phrases are parted by "of", "of the" and the like."""
    first, *others = [word.text.lower() for word in between] or [""]
    return first == "of" and all(
        other.isalpha() and word.pos in ("DET", "PRON")
        for other, word in zip(others, between[1:], strict=True)
    )


def _find_phrases(words: Sequence[Word]) -> list[tuple[int, int]]:
    """Find noun phrases, each as its first word and its noun."""
    is_part = [
        word.pos in MODIFIERS and _is_named(word) and not is_measure(words, index)
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


def _is_named(word: Word) -> bool:
    # Recipes have "-lrb-" for a bracket, protocols "27ul"; a semicolon would part the name.
    return word.text[0].isalpha() and ";" not in word.text


def is_measure(words: Sequence[Word], index: int) -> bool:
    """Tell whether a word is a number or a unit after one: "60 μl", "12-inch", "27ul"."""
    word = words[index]
    if word.pos == "NUM" or word.text[0].isdigit():
        return True
    if word.text.lower() not in _UNITS and word.lemma not in _UNITS:
        return False
    before = index - 1
    if before > 0 and words[before].text == "-":
        before -= 1
    return before >= 0 and (words[before].pos == "NUM" or words[before].text[-1].isdigit())


def _build_things(mentions: Sequence[Mention], steps: Sequence[Step]) -> list[Thing]:
    """Part the mentions of a noun by the word in front of it where most have one.

    A mention without one is then of the thing named last, but its form is no name: it would fit
    several.
    """
    modifiers = [
        steps[m.step].words[m.head - 1].lemma if m.start < m.head else None for m in mentions
    ]
    distinct = list(dict.fromkeys(modifier for modifier in modifiers if modifier))
    if len(distinct) < 2 or 2 * modifiers.count(None) >= len(modifiers):
        return [Thing(_name(mentions, steps), tuple(mentions))]
    parts: dict[str, list[Mention]] = {modifier: [] for modifier in distinct}
    current = distinct[0]
    for modifier, mention in zip(modifiers, mentions, strict=True):
        current = modifier or current
        parts[current].append(mention)
    return [
        Thing(_name([m for m in part if m.start < m.head], steps), tuple(part))
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
    """Give the phrase as it would stand inside a sentence: "Layers of sediment" is lower-cased."""
    form, end = "", step.words[mention.start].start
    for index in range(mention.start, mention.last + 1):
        word = step.words[index]
        is_name = word.pos == "PROPN" and index > 0
        has_capitals = word.text[1:] != word.text[1:].lower()
        form += step.text[end : word.start]
        form += word.text if is_name or has_capitals else word.text.lower()
        end = word.end
    return " ".join(form.split())
