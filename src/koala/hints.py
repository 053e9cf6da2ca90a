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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from koala.decoding import Output
from koala.decoding.output import log_softmax
from koala.document import Candidate, Entity, Procedure, Span
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


def add_hints(
    output: Output,
    procedure: Procedure,
    entities: Sequence[int],
    indices: Sequence[int],
    *,
    weights: Mapping[str, float] = WEIGHTS,
    network: float = NETWORK,
) -> Output:
    """Correct the places of some entities of a procedure, whose rows in `output` are `indices`.

    The probabilities of `output` should be calibrated.
    """
    theta = np.array([weights[name] for name in WEIGHTS])
    places, named = output.places.copy(), find_named(procedure)
    for entity, index in zip(entities, indices, strict=True):
        features = describe_places(procedure, entity, named)
        scores = network * log_softmax(output.place_scores(index)) + features @ theta
        places[index, : scores.shape[0], : scores.shape[1]] = scores
    return replace(output, places=places)


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


def find_named(procedure: Procedure) -> list[list[Named]]:
    """Find how the text names each candidate, in the order of the text."""
    spans: list[list[Span]] = [[] for _ in procedure.steps]
    for candidate in procedure.candidates:
        for span in candidate.mentions:
            spans[span.step].append(span)
    return [
        [
            Named(span, _find_way(procedure.steps[span.step].words, span.start), spans[span.step])
            for span in sorted(candidate.mentions, key=lambda span: (span.step, span.start))
        ]
        for candidate in procedure.candidates
    ]


def describe_places(
    procedure: Procedure, entity: int, named: Sequence[Sequence[Named]] | None = None
) -> Floats:
    """Describe every candidate at every position: (steps + 1, candidates, weights); `?` first."""
    own = procedure.entities[entity]
    named = find_named(procedure) if named is None else named
    others = {
        stem_content(alias)
        for number, other in enumerate(procedure.entities)
        if number != entity
        for alias in other.aliases
    }
    features = np.zeros((len(procedure.steps) + 1, 1 + len(named), len(WEIGHTS)))
    _describe_unknown(features[:, 0], named)
    for number, (candidate, mentions) in enumerate(zip(procedure.candidates, named, strict=True)):
        place = features[:, number + 1]
        for name, value in _describe_name(candidate, own, others):
            place[:, _INDEX[name]] = value
        inside = [mention.is_inside for mention in mentions]
        place[:, _INDEX["inside longer places"]] = np.mean(inside) if inside else 0.0
        for position in range(len(place)):
            for name in _describe_position(position, mentions, own):
                place[position, _INDEX[name]] = 1.0
        for mention in mentions:
            for name in _describe_beside(mention, own):
                place[mention.span.step + 1, _INDEX[name]] = 1.0
    return features


def _find_way(words: Sequence[Word], start: int) -> str:
    front = start - 1
    while front >= 0 and words[front].pos in _BETWEEN:
        front -= 1
    return _WAY_OF.get(words[front].text.lower(), "") if front >= 0 else ""


def _describe_unknown(unknown: Floats, named: Sequence[Sequence[Named]]) -> None:
    unknown[:, _INDEX["unknown"]] = 1.0
    unknown[0, _INDEX["unknown before the first step"]] = 1.0
    for mention in (mention for mentions in named for mention in mentions):
        if mention.way in ("to", "in"):
            unknown[mention.span.step + 1, _INDEX["unknown though the step has a place"]] = 1.0


def _describe_name(
    candidate: Candidate, entity: Entity, others: set[tuple[str, ...]]
) -> Iterator[tuple[str, float]]:
    yield "words", len(candidate.name.split())
    yield "mentions", min(len(candidate.mentions), _MOST_MENTIONS) / _MOST_MENTIONS
    place = stem_content(candidate.name)
    if not place:
        return
    yield "another entity", float(place in others)
    names = [name for name in map(stem_content, entity.aliases) if name]
    if place in names:
        yield "the entity itself", 1.0
    elif any(name[-len(place) :] == place for name in names):
        yield "the end of its name", 1.0
    elif any(place[-len(name) :] == name for name in names):
        yield "its name with more in front", 1.0


def _describe_position(position: int, mentions: Sequence[Named], entity: Entity) -> Iterator[str]:
    """Describe a place after a step, or before the first, by where and how it is named."""
    step = position - 1
    own_steps = {span.step for span in entity.mentions}
    here = [mention for mention in mentions if mention.span.step == step]
    before = [mention for mention in mentions if mention.span.step < step]
    later = [mention for mention in mentions if mention.span.step > step]
    comes_from = any(each.way == "from" and each.span.step in own_steps for each in later)
    if position == 0:
        yield "before the first step"
        if any(each.span.step == min(own_steps, default=None) for each in mentions):
            yield "before the first step: named with the entity's first mention"
        if comes_from:
            yield "before the first step: the entity comes from it"
    elif comes_from:
        yield "the entity comes from it later"
    ways = []
    if here:
        yield "named here"
        ways += [f"here: {each.way}" for each in here]
        if step in own_steps:
            ways += [f"with the entity: {each.way}" for each in here]
    elif before:
        ways.append(f"before: {before[-1].way}")
        if not later:
            yield "named before only"
    elif later:
        ways.append(f"later: {later[0].way}")
        yield "named later only"
    yield from (way for way in ways if way in WEIGHTS)


def _describe_beside(mention: Named, entity: Entity) -> Iterator[str]:
    """Describe a mention of a place by the mentions of the entity in the same step."""
    place = mention.span
    own = [span for span in entity.mentions if span.step == place.step]
    if any(span.start >= place.end for span in own):
        yield "in front of the entity"
    ends = [span.end for span in own if span.end <= place.start]
    if ends:
        yield "behind the entity"
        if not any(max(ends) <= each.start < place.start for each in mention.beside):
            yield "next behind the entity"
