"""Things → numbers: how often, where and in what part a text names each of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from koala.discovery.roles import Role, find_roles
from koala.discovery.tags import correct_tags
from koala.discovery.things import Mention, Thing, find_mentions, find_things
from koala.document import Convention, Procedure, Step, annotate
from koala.encoders import Encoder
from koala.text.nlp import Word

Vectors = NDArray[np.float32]

WORDED = "noun ", "verb "
"""How features start that name a word of the text."""


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of a thing before it is judged."""

    features: dict[str, float]
    noun: Vectors
    """(width): the mean of its nouns in context."""
    verb: Vectors
    """(width): the mean of the verbs it belongs to, zero where it has none."""


Described = tuple[tuple[Thing, ...], list[Description]]
"""The things of a procedure, and what is known of each."""


def describe_procedures(procedures: Sequence[Procedure], encoder: Encoder) -> list[Described]:
    """Find and describe the things of procedures; those without words are annotated first."""
    bare = [n for n, p in enumerate(procedures) if any(s.text and not s.words for s in p.steps)]
    annotated = dict(zip(bare, annotate([procedures[n] for n in bare]), strict=True))
    ready = [annotated.get(number, procedure) for number, procedure in enumerate(procedures)]
    texts = [[word.text for step in p.steps for word in step.words] for p in ready]
    # Each text by itself: a text fills a core, and nothing is padded.
    vectors = [encoder.encode([text])[0] for text in texts]
    return [
        _add_convention(describe(p.steps, read), p.convention)
        for p, read in zip(ready, vectors, strict=True)
    ]


def _add_convention(described: Described, convention: Convention) -> Described:
    """Say of each thing whose conventions are asked for: ProPara's annotators chose fewer."""
    things, descriptions = described
    name = f"convention {convention}"
    return things, [replace(each, features={**each.features, name: 1.0}) for each in descriptions]


def describe(steps: Sequence[Step], vectors: Vectors) -> Described:
    """Find the things of annotated steps and describe each.

    `vectors` is (words, width), all steps one behind the other.
    """
    steps = [replace(step, words=correct_tags(step.words)) for step in steps]
    starts = np.cumsum([0, *(len(step.words) for step in steps)])
    roles: dict[Mention, Role] = {}
    for number, step in enumerate(steps):
        mentions = find_mentions(step.words, number)
        roles.update(zip(mentions, find_roles(step.words, mentions), strict=True))
    things = find_things(steps)
    return things, [_describe(thing, roles, steps, vectors, starts) for thing in things]


def _describe(
    thing: Thing,
    roles: dict[Mention, Role],
    steps: Sequence[Step],
    vectors: Vectors,
    starts: NDArray[np.int64],
) -> Description:
    n = len(thing.mentions)
    counts: Counter[str] = Counter()
    verb = np.zeros(vectors.shape[1], dtype=np.float32)
    for mention in thing.mentions:
        words, role = steps[mention.step].words, roles[mention]
        counts.update(_name_features(words, mention, role))
        if role.verb is not None:
            verb += vectors[starts[mention.step] + role.verb] / n
    noun = np.mean([vectors[starts[m.step] + m.head] for m in thing.mentions], axis=0)
    features = {name: count / n for name, count in counts.items()}
    features |= {f"any {name}": 1.0 for name in counts if name.startswith("role ")}
    features |= _location_features(thing.mentions, len(steps))
    return Description(features, noun, verb)


def _location_features(mentions: Sequence[Mention], n_steps: int) -> dict[str, float]:
    """Say how often a thing is named, and from where to where."""
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
    """Name what holds of one mention."""
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
