"""What the words around a place say of who is there.

A network scores places by vectors of their mentions. It seldom sees what stands plainly in the
words: that nothing is inside itself, that what comes "from the lake" is no longer there and what
goes "into the lake" is, which place is named next behind the entity. So the probabilities that a
network gives to places are corrected by a log-linear model,

    p(place) ∝ p_network(place) ** NETWORK · exp(θ · f(place)),

where f describes a place at a position for an entity (`describe_places`). θ was found on train, on
what networks say of texts that they had not learned from (`benchmarks/hints.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Output
from koala.decoding.output import log_softmax
from koala.document import Procedure, Span
from koala.text import Word, stem_content

Floats = NDArray[np.float64]

NETWORK = 0.81
"""How much of a network's log probability counts."""

WEIGHTS: Mapping[str, float] = {
    "unknown": 0.31,
    "unknown before the first step": 0.27,
    "unknown though the step has a place": 0.13,
    "the entity itself": -3.66,
    "the end of its name": -0.46,
    "its name with more in front": -1.65,
    "another entity": 0.28,
    "inside longer places": -1.02,
    "words": -0.12,
    "mentions": 0.77,
    "before the first step": -0.27,
    "before the first step: named with the entity's first mention": 1.02,
    "before the first step: the entity comes from it": 1.77,
    "the entity comes from it later": 1.88,
    "named here": -0.14,
    "named before only": -0.1,
    "named later only": -0.32,
    "behind the entity": 0.74,
    "next behind the entity": 0.13,
    "in front of the entity": 0.57,
    "here: from": -1.13,
    "here: through": -0.23,
    "here: of": 0.39,
    "here: with": -0.21,
    "here: and": -0.41,
    "with the entity: to": 1.1,
    "with the entity: in": 0.46,
    "with the entity: from": -0.57,
    "with the entity: through": 0.6,
    "with the entity: of": -0.65,
    "with the entity: and": -0.37,
    "before: to": 0.57,
    "before: in": 0.3,
    "before: from": -0.61,
    "before: through": -0.48,
    "before: and": -1.53,
    "later: to": -0.53,
    "later: in": 0.37,
    "later: from": 0.85,
    "later: of": 0.85,
    "later: and": -0.73,
}
"""θ, by what it describes. `here: from` is a place that this step names after "from", `before` one
that it does not name, after the word that stood there when it was last named, `later` one that is
first named later."""


@dataclass(frozen=True, slots=True)
class Reranker:
    """The log-linear model that corrects the locations of a network."""

    network: float = NETWORK
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)

    def to_dict(self) -> dict[str, float]:
        """Give plain values, for a card: the network's weight under the name `network`."""
        return {"network": self.network, **self.weights}

    @classmethod
    def from_dict(cls, values: Mapping[str, float]) -> "Reranker":
        """Read what `to_dict` gave; a weight that is missing is 0."""
        weights = {name: float(values.get(name, 0.0)) for name in WEIGHTS}
        return cls(float(values.get("network", 1.0)), weights)


_INDEX = {name: number for number, name in enumerate(WEIGHTS)}

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


def add_hints(
    output: Output,
    procedure: Procedure,
    entities: Sequence[int],
    indices: Sequence[int],
    *,
    reranker: Reranker | None = None,
) -> Output:
    """Correct the places of some entities of a procedure, whose rows in `output` are `indices`.

    The probabilities of `output` should be calibrated.
    """
    model = reranker or Reranker()
    places, text = output.places.copy(), read_places(procedure)
    shared = _weigh(text.shared, text.n_positions, model.weights)
    for entity, index in zip(entities, indices, strict=True):
        hints = shared + _weigh(text.describe(entity), text.n_positions, model.weights)
        scores = model.network * log_softmax(output.place_scores(index)) + hints
        places[index, : scores.shape[0], : scores.shape[1]] = scores
    return replace(output, places=places)


def _weigh(
    facts: Sequence[Sequence[Fact]], n_positions: int, weights: Mapping[str, float]
) -> Floats:
    """Add up the weights of facts: (steps + 1, candidates)."""
    scores = np.zeros((n_positions, len(facts)))
    for number, own in enumerate(facts):
        for name, positions, value in own:
            scores[positions, number] += weights[name] * value
    return scores


def describe_places(procedure: Procedure, entity: int) -> Floats:
    """Describe every candidate at every position: (steps + 1, candidates, weights); `?` first."""
    text = read_places(procedure)
    features = np.zeros((text.n_positions, len(text.shared), len(WEIGHTS)))
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
class Place:
    """A candidate, and how the text names it."""

    n_words: int
    stems: tuple[str, ...]
    mentions: Sequence[Named]
    """In the order of the text."""
    ways: Mapping[int, Sequence[str]]
    """Of each step that names it, what leads to it there."""


@dataclass(frozen=True, slots=True)
class PlacesOfText:
    """What is the same for all entities of a procedure, said once."""

    procedure: Procedure
    places: Sequence[Place]
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
            [*_describe_name(place, names, aliases), *_describe_with(place, steps)]
            for place in self.places
        ]
        return [[], *own]


def read_places(procedure: Procedure) -> PlacesOfText:
    """Find how the text names each candidate."""
    spans: list[list[Span]] = [[] for _ in procedure.steps]
    for candidate in procedure.candidates:
        for span in candidate.mentions:
            spans[span.step].append(span)
    places = []
    for candidate in procedure.candidates:
        mentions = [
            Named(span, _find_way(procedure.steps[span.step].words, span.start), spans[span.step])
            for span in sorted(candidate.mentions, key=lambda span: (span.step, span.start))
        ]
        ways: dict[int, list[str]] = {}
        for mention in mentions:
            ways.setdefault(mention.span.step, []).append(mention.way)
        name = candidate.name
        places.append(Place(len(name.split()), stem_content(name), mentions, ways))
    n_positions = len(procedure.steps) + 1
    own = [list(_describe_place(place, n_positions)) for place in places]
    return PlacesOfText(procedure, places, [list(_describe_unknown(places)), *own], n_positions)


def _find_way(words: Sequence[Word], start: int) -> str:
    front = start - 1
    while front >= 0 and words[front].pos in _BETWEEN:
        front -= 1
    return _WAY_OF.get(words[front].text.lower(), "") if front >= 0 else ""


_ALL, _FIRST = slice(None), slice(0, 1)


def _after(step: int) -> slice:
    return slice(step + 1, step + 2)


def _describe_unknown(places: Sequence[Place]) -> Iterator[Fact]:
    yield "unknown", _ALL, 1.0
    yield "unknown before the first step", _FIRST, 1.0
    steps = {
        mention.span.step
        for place in places
        for mention in place.mentions
        if mention.way in ("to", "in")
    }
    for step in steps:
        yield "unknown though the step has a place", _after(step), 1.0


def _describe_place(place: Place, n_positions: int) -> Iterator[Fact]:
    """Describe a place by where and how it is named, whoever may be there."""
    yield "words", _ALL, place.n_words
    yield "mentions", _ALL, min(len(place.mentions), _MOST_MENTIONS) / _MOST_MENTIONS
    yield "before the first step", _FIRST, 1.0
    if not place.mentions:
        return
    inside = [mention.is_inside for mention in place.mentions]
    yield "inside longer places", _ALL, sum(inside) / len(inside)
    steps = list(place.ways)
    # After a step that does not name it: as it was last named, …
    for step, coming in pairwise([*steps, n_positions - 1]):
        yield from _lead("before", place.ways[step][-1:], slice(step + 2, coming + 1))
        yield "named here", _after(step), 1.0
        yield from _lead("here", place.ways[step], _after(step))
    yield "named before only", slice(steps[-1] + 2, None), 1.0
    # … or as it will be for the first time.
    yield "named later only", slice(0, steps[0] + 1), 1.0
    yield from _lead("later", place.ways[steps[0]][:1], slice(0, steps[0] + 1))


def _lead(where: str, ways: Sequence[str], positions: slice) -> Iterator[Fact]:
    """Say what leads to a place, each once, of what has a weight."""
    for name in dict.fromkeys(f"{where}: {way}" for way in ways):
        if name in WEIGHTS:
            yield name, positions, 1.0


def _describe_name(
    place: Place, names: Sequence[tuple[str, ...]], others: set[tuple[str, ...]]
) -> Iterator[Fact]:
    """Compare the name of a place with those of the entity and of the others."""
    own = place.stems
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


def _describe_with(place: Place, steps: Mapping[int, Sequence[Span]]) -> Iterator[Fact]:
    """Describe a place by the steps that name it and the entity; `steps` has its mentions."""
    if not steps.keys() & place.ways.keys():
        return
    if min(steps) in place.ways:
        yield "before the first step: named with the entity's first mention", _FIRST, 1.0
    last = max((s for s, ways in place.ways.items() if s in steps and "from" in ways), default=None)
    if last is not None:
        yield "before the first step: the entity comes from it", _FIRST, 1.0
        yield "the entity comes from it later", slice(1, last + 1), 1.0
    for step, ways in place.ways.items():
        if step not in steps:
            continue
        yield from _lead("with the entity", ways, _after(step))
        here = [mention for mention in place.mentions if mention.span.step == step]
        sides = (name for mention in here for name in _describe_sides(mention, steps[step]))
        # Each once, and always in the same order, so that sums are the same to the last digit.
        for name in dict.fromkeys(sides):
            yield name, _after(step), 1.0


def _describe_sides(mention: Named, own: Sequence[Span]) -> Iterator[str]:
    """Describe a mention of a place by the mentions of the entity in the same step."""
    place = mention.span
    if any(span.start >= place.end for span in own):
        yield "in front of the entity"
    ends = [span.end for span in own if span.end <= place.start]
    if ends:
        yield "behind the entity"
        if not any(max(ends) <= each.start < place.start for each in mention.beside):
            yield "next behind the entity"
