"""Candidate entities of a text: its noun phrases, clustered by head noun."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from koala.discovery.measures import is_measure
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
# Nouns that give what follows *of* a shape: "a piece of paper" is called "the paper" later.
_SHAPES = frozenset(
    {"ball", "bar", "batch", "bead", "beam", "bit", "blob", "block", "bubble", "bundle", "burst"}
    | {"cake", "chunk", "cloud", "clump", "coat", "coating", "coil", "crumb", "crust", "crystal"}
    | {
        "cube",
        "dose",
        "dot",
        "drop",
        "droplet",
        "film",
        "flake",
        "fragment",
        "grain",
        "heap",
        "jet",
    }
    | {"layer", "length", "line", "lump", "mass", "mist", "molecule", "particle", "patch"}
    | {"piece", "pile", "plug", "portion", "puff", "pulse", "ray", "ring", "roll", "scrap", "sheet"}
    | {"skin", "slab", "slice", "speck", "splinter", "square", "stack", "stick", "strand", "stream"}
    | {"strip", "stripe", "trickle", "wave", "wisp"}
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
    distinguishes several by their modifiers ("hot water", "cold water"). A phrase like "piece of
    paper" forms one cluster with "paper", which it introduces.
    """
    by_noun: dict[str, list[Mention]] = {}
    for number, step in enumerate(steps):
        for mention in find_mentions(step.words, number):
            by_noun.setdefault(step.words[mention.head].lemma, []).append(mention)
    found = [each for mentions in by_noun.values() for each in _cluster(mentions, steps)]
    found = _join_shapes(found, steps)
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


def _join_shapes(
    candidates: Sequence[CandidateEntity], steps: Sequence[Step]
) -> list[CandidateEntity]:
    """Join "a piece of paper" and "the paper", one thing, into one candidate.

    The phrase must introduce its second noun, and at most one of the two nouns may have further
    mentions: if "the layers sink into the mud", the layers of mud and the mud are two things.
    """
    owners = {mention: each for each in candidates for mention in each.mentions}
    inner = {(m.step, m.head): each for m, each in owners.items()}
    joined: dict[CandidateEntity, CandidateEntity] = {}
    for outer in candidates:
        phrase = outer.mentions[0]
        content = inner.get((phrase.step, phrase.last))
        if content is None or content in joined.values() or outer in joined.values():
            continue
        if _is_shape(steps[phrase.step].words, phrase) and _may_join(outer, content, phrase):
            joined[outer] = content
    contents = set(joined.values())
    return [
        _build_joined(each, joined[each], steps) if each in joined else each
        for each in candidates
        if each not in contents
    ]


def _is_shape(words: Sequence[Word], mention: Mention) -> bool:
    """Return whether a phrase is like "a piece of paper": a shape, *of* and a bare noun."""
    if mention.last == mention.head or words[mention.head].lemma not in _SHAPES:
        return False
    return all(word.pos in MODIFIERS for word in words[mention.head + 2 : mention.last + 1])


def _may_join(outer: CandidateEntity, content: CandidateEntity, phrase: Mention) -> bool:
    first = content.mentions[0]
    is_introduced = (first.step, first.head) == (phrase.step, phrase.last)
    return is_introduced and min(len(outer.mentions), len(content.mentions)) == 1


def _build_joined(
    outer: CandidateEntity, content: CandidateEntity, steps: Sequence[Step]
) -> CandidateEntity:
    """Build one candidate; the content's mention inside the outer phrase is not counted again."""
    mentions = sorted((*outer.mentions, *content.mentions[1:]), key=lambda m: (m.step, m.head))
    name = _name(mentions, steps)
    return CandidateEntity(name, tuple(mentions))


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
