"""Features of location candidates for the location reranker: the words around their mentions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from koala.document import Procedure, Span
from koala.text.nlp import Word, stem_content

Floats = NDArray[np.float64]

FEATURES = (
    "unknown",
    "unknown before the first step",
    "unknown though the step has a location",
    "the entity itself",
    "the end of its name",
    "its name with more in front",
    "another entity",
    "inside longer locations",
    "words",
    "mentions",
    "before the first step",
    "before the first step: named with the entity's first mention",
    "before the first step: the entity comes from it",
    "the entity comes from it later",
    "named here",
    "named before only",
    "named later only",
    "behind the entity",
    "next behind the entity",
    "in front of the entity",
    "here: from",
    "here: through",
    "here: of",
    "here: with",
    "here: and",
    "with the entity: to",
    "with the entity: in",
    "with the entity: from",
    "with the entity: through",
    "with the entity: of",
    "with the entity: and",
    "before: to",
    "before: in",
    "before: from",
    "before: through",
    "before: and",
    "later: to",
    "later: in",
    "later: from",
    "later: of",
    "later: and",
)
"""Features of a candidate at a position (before step 1, or after a step).

`here: from`: this step names the candidate after "from". `before: from`: this step does not name
it; an earlier step did, the last time after "from". `later: from`: no step up to here names it; a
later step does, the first time after "from". The names are keys in the cards of models.
"""

_INDEX = {name: number for number, name in enumerate(FEATURES)}

_CUES = {
    "to": "to into onto toward towards",
    "in": "in on at inside within under over above below beneath between around near upon",
    "from": "from off out",
    "through": "through along across via",
    "of": "of",
    "with": "with by for as",
    "and": "and or ,",
}
_CUE_OF = {word: cue for cue, words in _CUES.items() for word in words.split()}
_SKIPPED = frozenset({"ADJ", "DET", "NUM", "PRON"})
"""Parts of speech that may stand between a cue word and the location: "from the two old lakes"."""
_MOST_MENTIONS = 4

Fact = tuple[str, slice, float]
"""A feature, the positions where it holds, and its value."""


def describe_locations(procedure: Procedure, entity: int) -> Floats:
    """Give the features of every candidate: (steps + 1, candidates, features); `?` first."""
    text = read_locations(procedure)
    features = np.zeros((text.n_positions, len(text.shared), len(FEATURES)))
    for facts in (text.shared, text.describe(entity)):
        for number, own in enumerate(facts):
            for name, positions, value in own:
                features[positions, number, _INDEX[name]] = value
    return features


@dataclass(frozen=True, slots=True)
class LocationMention:
    """A mention of a candidate."""

    span: Span
    cue: str
    """Kind of the word in front: to, in, from, …; empty if it is none of them."""
    neighbours: Sequence[Span]
    """Mentions of all candidates in the same step, this one included."""

    @property
    def is_inside(self) -> bool:
        """Whether it is part of a longer mention: "lake" in "the salt lake"."""
        own = self.span
        return any(
            each.start <= own.start and own.end <= each.end and each != own
            for each in self.neighbours
        )


@dataclass(frozen=True, slots=True)
class Location:
    """A candidate, and how the text mentions it."""

    n_words: int
    stems: tuple[str, ...]
    mentions: Sequence[LocationMention]
    """In the order of the text."""
    cues: Mapping[int, Sequence[str]]
    """For each step that mentions it: the cues of these mentions."""


@dataclass(frozen=True, slots=True)
class ProcedureLocations:
    """All candidates of a procedure, and the features that do not depend on the entity."""

    procedure: Procedure
    locations: Sequence[Location]
    shared: Sequence[Sequence[Fact]]
    """Facts about each candidate, `?` first."""
    n_positions: int
    """Steps + 1: before the first step, and after each."""

    def describe(self, number: int) -> list[list[Fact]]:
        """Give the facts about each candidate that depend on the entity; `?` first."""
        entities = self.procedure.entities
        entity, others = entities[number], (*entities[:number], *entities[number + 1 :])
        other_names = {stem_content(alias) for other in others for alias in other.aliases}
        names = [name for name in map(stem_content, entity.aliases) if name]
        steps: dict[int, list[Span]] = {}
        for span in entity.mentions:
            steps.setdefault(span.step, []).append(span)
        own = [
            [*_describe_name(location, names, other_names), *_describe_together(location, steps)]
            for location in self.locations
        ]
        return [[], *own]


def read_locations(procedure: Procedure) -> ProcedureLocations:
    """Find the mentions of each candidate and the facts that all entities share."""
    spans: list[list[Span]] = [[] for _ in procedure.steps]
    for candidate in procedure.candidates:
        for span in candidate.mentions:
            spans[span.step].append(span)
    locations = []
    for candidate in procedure.candidates:
        mentions = [
            LocationMention(
                span, _find_cue(procedure.steps[span.step].words, span.start), spans[span.step]
            )
            for span in sorted(candidate.mentions, key=lambda span: (span.step, span.start))
        ]
        cues: dict[int, list[str]] = {}
        for mention in mentions:
            cues.setdefault(mention.span.step, []).append(mention.cue)
        name = candidate.name
        locations.append(Location(len(name.split()), stem_content(name), mentions, cues))
    n_positions = len(procedure.steps) + 1
    own = [list(_describe_location(location, n_positions)) for location in locations]
    return ProcedureLocations(
        procedure, locations, [list(_describe_unknown(locations)), *own], n_positions
    )


def _find_cue(words: Sequence[Word], start: int) -> str:
    """Give the cue in front of a mention that begins at word `start`."""
    front = start - 1
    while front >= 0 and words[front].pos in _SKIPPED:
        front -= 1
    return _CUE_OF.get(words[front].text.lower(), "") if front >= 0 else ""


_ALL, _FIRST = slice(None), slice(0, 1)


def _after(step: int) -> slice:
    return slice(step + 1, step + 2)


def _describe_unknown(locations: Sequence[Location]) -> Iterator[Fact]:
    yield "unknown", _ALL, 1.0
    yield "unknown before the first step", _FIRST, 1.0
    steps = {
        mention.span.step
        for location in locations
        for mention in location.mentions
        if mention.cue in ("to", "in")
    }
    for step in steps:
        yield "unknown though the step has a location", _after(step), 1.0


def _describe_location(location: Location, n_positions: int) -> Iterator[Fact]:
    """Describe a candidate by where and how the text mentions it."""
    yield "words", _ALL, location.n_words
    yield "mentions", _ALL, min(len(location.mentions), _MOST_MENTIONS) / _MOST_MENTIONS
    yield "before the first step", _FIRST, 1.0
    if not location.mentions:
        return
    inside = [mention.is_inside for mention in location.mentions]
    yield "inside longer locations", _ALL, sum(inside) / len(inside)
    steps = list(location.cues)
    # After a step that does not mention it: the cue of its last mention, …
    for step, coming in pairwise([*steps, n_positions - 1]):
        yield from _describe_cues("before", location.cues[step][-1:], slice(step + 2, coming + 1))
        yield "named here", _after(step), 1.0
        yield from _describe_cues("here", location.cues[step], _after(step))
    yield "named before only", slice(steps[-1] + 2, None), 1.0
    # … or, before its first mention, the cue of that one.
    yield "named later only", slice(0, steps[0] + 1), 1.0
    yield from _describe_cues("later", location.cues[steps[0]][:1], slice(0, steps[0] + 1))


def _describe_cues(where: str, cues: Sequence[str], positions: slice) -> Iterator[Fact]:
    """Give each cue once, if it is a feature."""
    for name in dict.fromkeys(f"{where}: {cue}" for cue in cues):
        if name in _INDEX:
            yield name, positions, 1.0


def _describe_name(
    location: Location, names: Sequence[tuple[str, ...]], other_names: set[tuple[str, ...]]
) -> Iterator[Fact]:
    """Compare the name of a candidate with the names of the entity and of other entities."""
    own = location.stems
    if not own:
        return
    if own in other_names:
        yield "another entity", _ALL, 1.0
    if own in names:
        yield "the entity itself", _ALL, 1.0
    elif any(name[-len(own) :] == own for name in names):
        yield "the end of its name", _ALL, 1.0
    elif any(own[-len(name) :] == name for name in names):
        yield "its name with more in front", _ALL, 1.0


def _describe_together(location: Location, steps: Mapping[int, Sequence[Span]]) -> Iterator[Fact]:
    """Describe a candidate by the steps that mention both it and the entity.

    `steps` holds the entity's mentions.
    """
    if not steps.keys() & location.cues.keys():
        return
    if min(steps) in location.cues:
        yield "before the first step: named with the entity's first mention", _FIRST, 1.0
    last = max(
        (s for s, cues in location.cues.items() if s in steps and "from" in cues), default=None
    )
    if last is not None:
        yield "before the first step: the entity comes from it", _FIRST, 1.0
        yield "the entity comes from it later", slice(1, last + 1), 1.0
    for step, cues in location.cues.items():
        if step not in steps:
            continue
        yield from _describe_cues("with the entity", cues, _after(step))
        here = [mention for mention in location.mentions if mention.span.step == step]
        sides = (name for mention in here for name in _describe_sides(mention, steps[step]))
        # Without duplicates, in a fixed order: then sums are reproducible to the last digit.
        for name in dict.fromkeys(sides):
            yield name, _after(step), 1.0


def _describe_sides(mention: LocationMention, own: Sequence[Span]) -> Iterator[str]:
    """Say on which side of the entity's mentions in the same step a mention stands."""
    location = mention.span
    if any(span.start >= location.end for span in own):
        yield "in front of the entity"
    ends = [span.end for span in own if span.end <= location.start]
    if ends:
        yield "behind the entity"
        if not any(max(ends) <= each.start < location.start for each in mention.neighbours):
            yield "next behind the entity"
