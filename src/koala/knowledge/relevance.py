"""Relevance of triples at each step: labels for the attention loss (section 4.3.3).

A triple is relevant at a step if it contains a verb that often occurs with the step's action on the
entity, or the location to which the step brings the entity. Both rules need the gold grid, so the
labels exist only in training.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from koala.document import Procedure
from koala.grid import Grid, Row
from koala.grid.states import ABSENT, UNKNOWN, Action
from koala.knowledge.triple import Triple
from koala.text.nlp import stem, stem_content

MORE_THAN = 5
"""A verb counts if it occurs with an action more often than this (section 4.3.3)."""

AUXILIARIES = frozenset({"be", "do", "have"})
"""Never counted, even if tagged as full verbs: they occur with every action."""

Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class VerbSets:
    """The verbs (lemmas) that often occur with each action: V_create, V_move, V_destroy."""

    verbs: Mapping[Action, frozenset[str]]

    def stems(self, action: Action) -> frozenset[str]:
        """Return the stems of an action's verbs."""
        return frozenset(stem(verb) for verb in self.verbs.get(action, ()))

    def to_dict(self) -> dict[str, list[str]]:
        """Return a JSON-compatible dict, with sorted verbs."""
        return {action.value: sorted(verbs) for action, verbs in self.verbs.items()}


@dataclass(frozen=True, slots=True)
class Relevance:
    """Labels of one entity, each (steps, triples): by verb and by location."""

    states: Labels
    locations: Labels

    @property
    def any(self) -> Labels:
        """The paper's label: relevant by either rule."""
        return self.states | self.locations


def count_verbs(pairs: Iterable[tuple[Procedure, Grid]], *, more_than: int = MORE_THAN) -> VerbSets:
    """Count verbs over the entities and steps of annotated procedures, which must be train only."""
    counts: dict[Action, Counter[str]] = {
        action: Counter() for action in Action if action != Action.NONE
    }
    for procedure, gold in pairs:
        verbs = [
            {step.words[i].lemma for i in step.verbs} - AUXILIARIES for step in procedure.steps
        ]
        for row in gold.rows:
            for action, found in zip(row.actions, verbs, strict=True):
                if action != Action.NONE:
                    counts[action].update(found)
    return VerbSets(
        MappingProxyType(
            {
                action: frozenset(verb for verb, count in found.items() if count > more_than)
                for action, found in counts.items()
            }
        )
    )


def label_triples(gold: Row, triples: Sequence[Triple], verbs: VerbSets) -> Relevance:
    """Label the triples retrieved for an entity at every step of its gold row."""
    shape = (len(gold.steps), len(triples))
    states, locations = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    stems = [_stems_of(triple) for triple in triples]
    verb_stems = {action: verbs.stems(action) for action in Action}
    for step, cell in enumerate(gold.steps):
        if cell.action == Action.NONE:
            continue
        states[step] = [bool(found & verb_stems[cell.action]) for found in stems]
        if cell.action in (Action.CREATE, Action.MOVE) and cell.after not in (ABSENT, UNKNOWN):
            location = frozenset(stem_content(cell.after))
            locations[step] = [bool(location) and location <= found for found in stems]
    return Relevance(states, locations)


@lru_cache(maxsize=1 << 16)
def _stems_of(triple: Triple) -> frozenset[str]:
    """Return the stems of both concepts with stop words, among them verbs such as "make"."""
    words = f"{triple.head} {triple.tail}".split()
    return frozenset(stem(word) for word in words)
