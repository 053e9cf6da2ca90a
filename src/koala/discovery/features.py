"""Features of candidate entities: how often, where and in which roles a text mentions them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from koala.discovery.candidates import (
    CandidateEntity,
    Mention,
    find_candidate_entities,
    find_mentions,
)
from koala.discovery.roles import Role, find_roles
from koala.discovery.tags import correct_tags
from koala.document import Convention, Procedure, Step, annotate
from koala.encoders import Encoder
from koala.text.nlp import Word

Vectors = NDArray[np.float32]

WORDED = "noun ", "verb "
"""Prefixes of lexical features, those named after a word of the text."""


@dataclass(frozen=True, slots=True)
class Description:
    """The ranker's input for one candidate entity."""

    features: dict[str, float]
    noun: Vectors
    """(width): mean contextual vector of its head nouns."""
    verb: Vectors
    """(width): sum of the contextual vectors of its verbs, divided by the number of mentions."""


Described = tuple[tuple[CandidateEntity, ...], list[Description]]
"""The candidate entities of a procedure with a description of each."""


def describe_procedures(procedures: Sequence[Procedure], encoder: Encoder) -> list[Described]:
    """Find and describe the candidate entities; procedures without words are annotated first."""
    plain = [n for n, p in enumerate(procedures) if any(s.text and not s.words for s in p.steps)]
    annotated = dict(zip(plain, annotate([procedures[n] for n in plain]), strict=True))
    ready = [annotated.get(number, procedure) for number, procedure in enumerate(procedures)]
    texts = [[word.text for step in p.steps for word in step.words] for p in ready]
    # One text at a time: a single text keeps a core busy, and there is no padding.
    vectors = [encoder.encode([text])[0] for text in texts]
    return [
        _add_convention(describe(p.steps, each), p.convention)
        for p, each in zip(ready, vectors, strict=True)
    ]


def _add_convention(described: Described, convention: Convention) -> Described:
    """Add the annotation convention as a feature: ProPara's annotators chose fewer entities."""
    candidates, descriptions = described
    feature = {f"convention {convention}": 1.0}
    return candidates, [replace(each, features=each.features | feature) for each in descriptions]


def describe(steps: Sequence[Step], vectors: Vectors) -> Described:
    """Find and describe the candidate entities of annotated steps.

    `vectors` is (words, width), over the words of all steps in order.
    """
    steps = [replace(step, words=correct_tags(step.words)) for step in steps]
    starts = np.cumsum([0, *(len(step.words) for step in steps)])
    roles: dict[Mention, Role] = {}
    for number, step in enumerate(steps):
        mentions = find_mentions(step.words, number)
        roles.update(zip(mentions, find_roles(step.words, mentions), strict=True))
    candidates = find_candidate_entities(steps)
    return candidates, [_describe(each, roles, steps, vectors, starts) for each in candidates]


def _describe(
    candidate: CandidateEntity,
    roles: dict[Mention, Role],
    steps: Sequence[Step],
    vectors: Vectors,
    starts: NDArray[np.int64],
) -> Description:
    n = len(candidate.mentions)
    counts: Counter[str] = Counter()
    verb = np.zeros(vectors.shape[1], dtype=np.float32)
    for mention in candidate.mentions:
        words, role = steps[mention.step].words, roles[mention]
        counts.update(_name_features(words, mention, role))
        if role.verb is not None:
            verb += vectors[starts[mention.step] + role.verb] / n
    noun = np.mean([vectors[starts[m.step] + m.head] for m in candidate.mentions], axis=0)
    features = {name: count / n for name, count in counts.items()}
    features |= {f"any {name}": 1.0 for name in counts if name.startswith("role ")}
    features |= _position_features(candidate.mentions, len(steps))
    return Description(features, noun, verb)


def _position_features(mentions: Sequence[Mention], n_steps: int) -> dict[str, float]:
    """Return how often a candidate is mentioned, and in which steps."""
    steps = [mention.step for mention in mentions]
    last = max(n_steps - 1, 1)
    return {
        "bias": 1.0,
        "log mentions": log(len(steps)),
        "two mentions": float(len(steps) >= 2),
        "three mentions": float(len(steps) >= 3),
        "share of steps": len(set(steps)) / n_steps,
        "first step": steps[0] / last,
        "last step": steps[-1] / last,
        "in the first step": float(steps[0] == 0),
        "in the last step": float(steps[-1] == n_steps - 1),
    }


def _name_features(words: Sequence[Word], mention: Mention, role: Role) -> set[str]:
    """Return the names of the binary features that are true of one mention."""
    head = words[mention.head]
    form = head.text.lower()
    modifiers = {word.pos for word in words[mention.start : mention.head]}
    following = words[mention.head + 1] if mention.head + 1 < len(words) else None
    names = {
        f"noun {head.lemma}",
        f"role {role.name}",
        f"determiner {role.determiner}",
        f"next {following.pos if following else 'end'}",
    }
    if role.verb is not None:
        names.add(f"verb {role.name} {words[role.verb].lemma}")
    flags = {
        "adjective": "ADJ" in modifiers,
        "compound": bool(modifiers & {"NOUN", "PROPN"}),
        "proper noun": head.pos == "PROPN",
        "plural": form != head.lemma,
        "ends in -ing": form.endswith("ing"),
        "has a digit": any(map(str.isdigit, form)),
        "listed": role.is_listed,
        "starts the step": mention.start <= 1,
        "before of": following is not None and following.text.lower() == "of",
    }
    return names | {name for name, holds in flags.items() if holds}
