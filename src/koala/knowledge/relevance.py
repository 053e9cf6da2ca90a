"""Which triples matter for what happens at a step: labels for the attention loss (section 4.3.3).

A triple is relevant at a step if it holds a verb that often stands with what the step does to the
entity, or the place where the step brings it. Both rules need the gold grid: training only.
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
"""A verb counts if it stands with an action more often than this (section 4.3.3)."""

AUXILIARIES = frozenset({"be", "do", "have"})
"""Left out also where the tagger takes them for full verbs: they stand with everything."""

Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class VerbSets:
    """For every action the verbs (lemmas) that often stand with it: V_create, V_move, V_destroy."""

    verbs: Mapping[Action, frozenset[str]]

    def stems(self, action: Action) -> frozenset[str]:
        """Give the stems of an action's verbs."""
        return frozenset(stem(verb) for verb in self.verbs.get(action, ()))

    def to_dict(self) -> dict[str, list[str]]:
        """Give plain values, sorted."""
        return {action.value: sorted(verbs) for action, verbs in self.verbs.items()}


@dataclass(frozen=True, slots=True)
class Relevance:
    """Labels of one entity, each (steps, triples): by verb and by place."""

    states: Labels
    locations: Labels

    @property
    def any(self) -> Labels:
        """The paper's label: either rule holds."""
        return self.states | self.locations


def count_verbs(pairs: Iterable[tuple[Procedure, Grid]], *, more_than: int = MORE_THAN) -> VerbSets:
    """Count verbs over the entities and steps of annotated procedures; give it train only."""
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
    signs = {action: verbs.stems(action) for action in Action}
    for step, cell in enumerate(gold.steps):
        if cell.action == Action.NONE:
            continue
        states[step] = [bool(found & signs[cell.action]) for found in stems]
        if cell.action in (Action.CREATE, Action.MOVE) and cell.after not in (ABSENT, UNKNOWN):
            location = frozenset(stem_content(cell.after))
            locations[step] = [bool(location) and location <= found for found in stems]
    return Relevance(states, locations)


@lru_cache(maxsize=1 << 16)
def _stems_of(triple: Triple) -> frozenset[str]:
    """Give the stems of both concepts, stop words too: "move" and "make" are verbs that matter."""
    words = f"{triple.head} {triple.tail}".split()
    return frozenset(stem(word) for word in words)
