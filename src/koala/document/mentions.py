"""Find where the steps of a procedure mention its entities."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from koala.document.types import Entity, Procedure, Span, Step
from koala.text.nlp import NOUNS, Word, analyze


def find_whole(
    procedure: Procedure, analyzed: Mapping[str, tuple[Word, ...]]
) -> list[tuple[Span, ...]]:
    """Find the mentions of every entity by its whole name; `analyzed`: the words of every alias."""
    return [_find_entity(entity, procedure.steps, analyzed) for entity in procedure.entities]


def _find_entity(
    entity: Entity, steps: Sequence[Step], analyzed: Mapping[str, tuple[Word, ...]]
) -> tuple[Span, ...]:
    spans: set[Span] = set()
    for alias in entity.aliases:
        spans.update(find_mentions(analyzed[alias], steps))
    # An alias inside a longer one ("acid" in "weak acid") is not a second mention.
    longest = [s for s in spans if not any(o != s and _contains(o, s) for o in spans)]
    return tuple(sorted(longest, key=lambda span: (span.step, span.start, span.end)))


def _contains(outer: Span, inner: Span) -> bool:
    return outer.step == inner.step and outer.start <= inner.start and inner.end <= outer.end


def find_mentions(name: Sequence[Word], steps: Sequence[Step]) -> list[Span]:
    """Find a name in the steps; words match by form or lemma, ignoring case."""
    wanted = [forms_of(word) for word in name]
    spans: list[Span] = []
    if not wanted:
        return spans
    for number, step in enumerate(steps):
        forms = [forms_of(word) for word in step.words]
        for start in range(len(forms) - len(wanted) + 1):
            if all(w & f for w, f in zip(wanted, forms[start:], strict=False)):
                spans.append(Span(number, start, start + len(wanted)))
    return spans


def find_phrase(phrase: str, steps: Sequence[Step]) -> list[Span]:
    """Find a phrase in the steps; words match by form or lemma, ignoring case."""
    (analysis,) = analyze([phrase])
    return find_mentions(analysis.words, steps)


@dataclass(frozen=True, slots=True)
class _Part:
    """A sequence of words that all occur in the name of an entity."""

    entity: int
    span: Span
    share: float
    """Number of its words, as a share of the words of the name."""

    def is_better(self, other: "_Part") -> bool:
        """Tell whether this part overlaps another of the same step and is the better match."""
        if self.span.start >= other.span.end or other.span.start >= self.span.end:
            return False
        length, other_length = (part.span.end - part.span.start for part in (self, other))
        return (length, self.share) > (other_length, other.share)


def find_parts(
    procedure: Procedure, analyzed: Mapping[str, tuple[Word, ...]]
) -> list[tuple[Span, ...]]:
    """Find the mentions of all entities by parts of their names that include a noun.

    If parts of two entities overlap, the longer one wins, then the larger share of the name:
    "butter" is butter if that is an entity, and may be peanut butter otherwise.
    """
    by_step: dict[int, list[_Part]] = {}
    for number, entity in enumerate(procedure.entities):
        for alias in entity.aliases:
            for part in _find_name_parts(number, analyzed[alias], procedure.steps):
                by_step.setdefault(part.span.step, []).append(part)
    found: list[set[Span]] = [set() for _ in procedure.entities]
    for parts in by_step.values():
        for part in parts:
            if not any(o.entity != part.entity and o.is_better(part) for o in parts):
                found[part.entity].add(part.span)
    return [tuple(sorted(spans, key=lambda s: (s.step, s.start, s.end))) for spans in found]


def _find_name_parts(entity: int, name: Sequence[Word], steps: Sequence[Step]) -> Iterator[_Part]:
    name_words = [(forms_of(word), word.pos in NOUNS) for word in name]
    for number, step in enumerate(steps):
        start, has_noun = 0, False
        for index, word in enumerate((*step.words, None)):
            matches = [is_noun for forms, is_noun in name_words if word and forms & forms_of(word)]
            if word and matches:
                has_noun = has_noun or any(matches) or word.pos in NOUNS
                continue
            if index > start and has_noun:
                yield _Part(entity, Span(number, start, index), (index - start) / len(name))
            start, has_noun = index + 1, False


def forms_of(word: Word) -> frozenset[str]:
    """Give the forms by which a word is matched: its text and its lemma, in lower case."""
    return frozenset({word.text.lower(), word.lemma})
