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
"""Features of a candidate at a position.

`here: from`: this step names it after "from". `before: from`: this step does not name it, and an
earlier step last named it after "from". `later: from`: a later step first names it after "from".
"""

_INDEX = {name: number for number, name in enumerate(FEATURES)}

_WAYS = {
    "to": "to into onto toward towards",
    "in": "in on at inside within under over above below beneath between around near upon",
    "from": "from off out",
    "through": "through along across via",
    "of": "of",
    "with": "with by for as",
    "and": "and or ,",
}
_WAY_OF = {word: way for way, words in _WAYS.items() for word in words.split()}
_BETWEEN = frozenset({"ADJ", "DET", "NUM", "PRON"})
"""What may stand between such a word and the place: "from the two old lakes"."""
_MOST_MENTIONS = 4


Fact = tuple[str, slice, float]
"""What is described, at which positions, and how much of it."""


def describe_locations(procedure: Procedure, entity: int) -> Floats:
    """Describe every candidate at every position: (steps + 1, candidates, weights); `?` first."""
    text = read_locations(procedure)
    features = np.zeros((text.n_positions, len(text.shared), len(FEATURES)))
    for facts in (text.shared, text.describe(entity)):
        for number, own in enumerate(facts):
            for name, positions, value in own:
                features[positions, number, _INDEX[name]] = value
    return features


@dataclass(frozen=True, slots=True)
class Named:
    """A mention of a place, what leads to it (to, in, from, … or nothing), and the mentions of all
    places in the same step.
    """

    span: Span
    way: str
    beside: Sequence[Span]

    @property
    def is_inside(self) -> bool:
        """Whether it is part of a longer one: lake, in "the salt lake"."""
        own = self.span
        return any(
            each.start <= own.start and own.end <= each.end and each != own for each in self.beside
        )


@dataclass(frozen=True, slots=True)
class Location:
    """A candidate, and how the text names it."""

    n_words: int
    stems: tuple[str, ...]
    mentions: Sequence[Named]
    """In the order of the text."""
    ways: Mapping[int, Sequence[str]]
    """Of each step that names it, what leads to it there."""


@dataclass(frozen=True, slots=True)
class LocationsOfText:
    """What is the same for all entities of a procedure, said once."""

    procedure: Procedure
    locations: Sequence[Location]
    shared: Sequence[Sequence[Fact]]
    """Of each candidate, `?` first."""
    n_positions: int
    """Before the first step, and after each."""

    def describe(self, number: int) -> list[list[Fact]]:
        """Say of each candidate what concerns one entity alone."""
        entities = self.procedure.entities
        entity, others = entities[number], (*entities[:number], *entities[number + 1 :])
        aliases = {stem_content(alias) for other in others for alias in other.aliases}
        names = [name for name in map(stem_content, entity.aliases) if name]
        steps: dict[int, list[Span]] = {}
        for span in entity.mentions:
            steps.setdefault(span.step, []).append(span)
        own = [
            [*_describe_name(location, names, aliases), *_describe_with(location, steps)]
            for location in self.locations
        ]
        return [[], *own]


def read_locations(procedure: Procedure) -> LocationsOfText:
    """Find how the text names each candidate."""
    spans: list[list[Span]] = [[] for _ in procedure.steps]
    for candidate in procedure.candidates:
        for span in candidate.mentions:
            spans[span.step].append(span)
    locations = []
    for candidate in procedure.candidates:
        mentions = [
            Named(span, _find_way(procedure.steps[span.step].words, span.start), spans[span.step])
            for span in sorted(candidate.mentions, key=lambda span: (span.step, span.start))
        ]
        ways: dict[int, list[str]] = {}
        for mention in mentions:
            ways.setdefault(mention.span.step, []).append(mention.way)
        name = candidate.name
        locations.append(Location(len(name.split()), stem_content(name), mentions, ways))
    n_positions = len(procedure.steps) + 1
    own = [list(_describe_location(location, n_positions)) for location in locations]
    return LocationsOfText(
        procedure, locations, [list(_describe_unknown(locations)), *own], n_positions
    )


def _find_way(words: Sequence[Word], start: int) -> str:
    front = start - 1
    while front >= 0 and words[front].pos in _BETWEEN:
        front -= 1
    return _WAY_OF.get(words[front].text.lower(), "") if front >= 0 else ""


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
        if mention.way in ("to", "in")
    }
    for step in steps:
        yield "unknown though the step has a location", _after(step), 1.0


def _describe_location(location: Location, n_positions: int) -> Iterator[Fact]:
    """Describe a place by where and how it is named, whoever may be there."""
    yield "words", _ALL, location.n_words
    yield "mentions", _ALL, min(len(location.mentions), _MOST_MENTIONS) / _MOST_MENTIONS
    yield "before the first step", _FIRST, 1.0
    if not location.mentions:
        return
    inside = [mention.is_inside for mention in location.mentions]
    yield "inside longer locations", _ALL, sum(inside) / len(inside)
    steps = list(location.ways)
    # After a step that does not name it: as it was last named, …
    for step, coming in pairwise([*steps, n_positions - 1]):
        yield from _lead("before", location.ways[step][-1:], slice(step + 2, coming + 1))
        yield "named here", _after(step), 1.0
        yield from _lead("here", location.ways[step], _after(step))
    yield "named before only", slice(steps[-1] + 2, None), 1.0
    # … or as it will be for the first time.
    yield "named later only", slice(0, steps[0] + 1), 1.0
    yield from _lead("later", location.ways[steps[0]][:1], slice(0, steps[0] + 1))


def _lead(where: str, ways: Sequence[str], positions: slice) -> Iterator[Fact]:
    """Say what leads to a place, each once, of what has a weight."""
    for name in dict.fromkeys(f"{where}: {way}" for way in ways):
        if name in _INDEX:
            yield name, positions, 1.0


def _describe_name(
    location: Location, names: Sequence[tuple[str, ...]], others: set[tuple[str, ...]]
) -> Iterator[Fact]:
    """Compare the name of a place with those of the entity and of the others."""
    own = location.stems
    if not own:
        return
    if own in others:
        yield "another entity", _ALL, 1.0
    if own in names:
        yield "the entity itself", _ALL, 1.0
    elif any(name[-len(own) :] == own for name in names):
        yield "the end of its name", _ALL, 1.0
    elif any(own[-len(name) :] == name for name in names):
        yield "its name with more in front", _ALL, 1.0


def _describe_with(location: Location, steps: Mapping[int, Sequence[Span]]) -> Iterator[Fact]:
    """Describe a place by the steps that name it and the entity; `steps` has its mentions."""
    if not steps.keys() & location.ways.keys():
        return
    if min(steps) in location.ways:
        yield "before the first step: named with the entity's first mention", _FIRST, 1.0
    last = max(
        (s for s, ways in location.ways.items() if s in steps and "from" in ways), default=None
    )
    if last is not None:
        yield "before the first step: the entity comes from it", _FIRST, 1.0
        yield "the entity comes from it later", slice(1, last + 1), 1.0
    for step, ways in location.ways.items():
        if step not in steps:
            continue
        yield from _lead("with the entity", ways, _after(step))
        here = [mention for mention in location.mentions if mention.span.step == step]
        sides = (name for mention in here for name in _describe_sides(mention, steps[step]))
        # Each once, and always in the same order, so that sums are the same to the last digit.
        for name in dict.fromkeys(sides):
            yield name, _after(step), 1.0


def _describe_sides(mention: Named, own: Sequence[Span]) -> Iterator[str]:
    """Describe a mention of a place by the mentions of the entity in the same step."""
    location = mention.span
    if any(span.start >= location.end for span in own):
        yield "in front of the entity"
    ends = [span.end for span in own if span.end <= location.start]
    if ends:
        yield "behind the entity"
        if not any(max(ends) <= each.start < location.start for each in mention.beside):
            yield "next behind the entity"
