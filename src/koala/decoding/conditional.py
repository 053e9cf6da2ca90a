"""Decoding under fixed cells: the posterior of a trajectory, given what a person has fixed.

Tags and locations of one entity form a Markov chain. Its states are a tag with the location after
the step: an entity that stays keeps its location, one that is created or moves takes a new one by
the network's probabilities, and an absent one has none. Fixed cells remove states; Viterbi,
sampling and marginals are the standard algorithms on the remaining chain.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from koala.decoding.marginals import Marginals
from koala.decoding.recipes import NOWHERE
from koala.decoding.sampling import sample_columns
from koala.decoding.viterbi import IMPOSSIBLE, TAGS, find_potentials
from koala.errors import KoalaError
from koala.grid.states import Tag
from koala.network.output import Output, log_softmax

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST = 1e-12
"""Smallest probability that an entity which moves is elsewhere."""

_PRESENT = (Tag.C, Tag.E, Tag.M)
_ABSENT = (Tag.O_C, Tag.D, Tag.O_D)


@dataclass(frozen=True, slots=True)
class Fix:
    """What a person has fixed at one position of an entity; position 0 is before the first step."""

    location: int | None = None
    """Candidate after the step, or NOWHERE; None: not fixed."""
    tags: frozenset[Tag] = frozenset(Tag)
    """Tags that the step may have."""
    must_move: bool = False
    """Whether the location after the step must differ from the one before it."""


Fixes = Mapping[int, Fix]
"""By position."""


class TrajectoryChain:
    """The chain of one entity under its fixes.

    States after each step: (C, location), (E, location), (M, location) for every candidate, then
    the three absent tags. Before the first step: every candidate, then absent.
    """

    def __init__(self, output: Output, index: int, fixes: Fixes) -> None:
        starts, emissions, transitions, ends = find_potentials(output, index, is_legal=True)
        locations = log_softmax(output.location_scores(index))
        self.n_steps, self.n_candidates = len(emissions), locations.shape[1]
        n = self.n_candidates
        # (states,): tag and location of every state
        self._tags = np.array([TAGS.index(tag) for tag in _PRESENT for _ in range(n)]
                              + [TAGS.index(tag) for tag in _ABSENT])  # fmt: skip
        self._locations = np.array([*np.tile(np.arange(n), len(_PRESENT)), *[NOWHERE] * 3])
        self._first = np.array([*range(n), NOWHERE])
        self._arrivals, self._emissions = locations[1:], emissions
        self._starts = np.array([*locations[0], 0.0]) + _allow(self._first, fixes.get(0))
        # Kept once, not per step: with many candidates they are large.
        self._enter = starts[self._tags] + self._follow(self._first)
        self._between = transitions[self._tags][:, self._tags] + self._follow(self._locations)
        self._fixes = fixes
        self._ends = ends[self._tags]
        if self._forward()[-1].max() < IMPOSSIBLE / 2:
            raise KoalaError("The fixed cells contradict each other: no trajectory has them all.")

    def _follow(self, before: Ints) -> Floats:
        """Bar what cannot follow each location: 0 or IMPOSSIBLE, (locations before, states).

        Whether an entity exists before a step is decided by the step's tag, too. A move changes the
        location.
        """
        exists_before = before[:, None] != NOWHERE
        tag = self._tags[None, :]
        needs = np.isin(tag, [TAGS.index(t) for t in (Tag.E, Tag.M, Tag.D)])
        is_same = before[:, None] == self._locations[None, :]
        possible = (exists_before == needs) & ((tag != TAGS.index(Tag.E)) | is_same)
        if self.n_candidates > 1:
            possible = possible & ~((tag == TAGS.index(Tag.M)) & is_same)
        return np.where(possible, 0.0, IMPOSSIBLE)

    def _arrive(self, arrivals: Floats, before: Ints) -> Floats:
        """Score where an entity arrives: (locations before, states).

        For a move, the probabilities of the locations other than the present one are normalised.
        """
        moves = self._tags == TAGS.index(Tag.M)
        arrives = moves | (self._tags == TAGS.index(Tag.C))
        gain = np.where(arrives, arrivals[self._locations.clip(min=0)], 0.0)[None, :]
        if self.n_candidates > 1:
            elsewhere = np.log(np.maximum(-np.expm1(arrivals[before.clip(min=0)]), _LEAST))
            gain = gain - np.where(moves, elsewhere[:, None], 0.0)
        return gain

    def _score(self, step: int) -> Floats:
        """Score how a step leads from each state to each: (states before, states)."""
        before = self._locations if step else self._first
        moves = self._between if step else self._starts[:, None] + self._enter
        gain = self._arrive(self._arrivals[step], before)
        allowed = self._allow_states(self._fixes.get(step + 1), before)
        scores: Floats = moves + self._emissions[step, self._tags] + gain + allowed
        return scores

    def _allow_states(self, fix: Fix | None, before: Ints) -> Floats:
        """Bar what a fix excludes: (states,), or (states before, states) if it asks for a move."""
        if fix is None:
            return np.zeros(len(self._tags))
        allowed = np.isin(self._tags, [TAGS.index(tag) for tag in fix.tags])
        if fix.must_move:
            allowed = allowed & (before[:, None] != self._locations[None, :])
        return np.where(allowed, 0.0, IMPOSSIBLE) + _allow(self._locations, fix)

    def _forward(self) -> list[Floats]:
        """Add up all trajectories that lead to each state; the last step holds the ends, too."""
        found = [np.logaddexp.reduce(self._score(0), axis=0)]
        for step in range(1, self.n_steps):
            found.append(np.logaddexp.reduce(found[-1][:, None] + self._score(step), axis=0))
        found[-1] = found[-1] + self._ends
        return found

    def decode(self) -> tuple[int, ...]:
        """Give the most probable trajectory: a candidate or NOWHERE at each position."""
        return self.decode_tags()[1]

    def decode_tags(self) -> tuple[tuple[Tag, ...], tuple[int, ...]]:
        """Give the most probable trajectory with its tags."""
        first = self._score(0)
        best, back = first.max(0), [first.argmax(0)]
        for step in range(1, self.n_steps):
            paths = best[:, None] + self._score(step)
            best = paths.max(0)
            back.append(paths.argmax(0))
        state = int((best + self._ends).argmax())
        tags, row = [], []
        for pointers in reversed(back):
            tags.append(TAGS[self._tags[state]])
            row.append(int(self._locations[state]))
            state = int(pointers[state])
        return tuple(reversed(tags)), (int(self._first[state]), *reversed(row))

    def sample(self, n: int, rng: np.random.Generator) -> Ints:
        """Sample trajectories: candidates (n, steps + 1), NOWHERE where the entity is absent."""
        forward = self._forward()
        states = sample_columns(np.tile(forward[-1], (n, 1)), rng)
        found = [self._locations[states]]
        for step in range(self.n_steps - 1, 0, -1):
            states = sample_columns(forward[step - 1] + self._score(step)[:, states].T, rng)
            found.append(self._locations[states])
        found.append(self._first[sample_columns(self._score(0)[:, states].T, rng)])
        return np.stack(found[::-1], axis=1)

    def find_marginals(self) -> Marginals:
        """Give the probabilities of tags and, where the entity exists, of locations."""
        forward = self._forward()
        backward = [np.zeros(len(self._tags))]
        for step in reversed(range(self.n_steps)):
            moves = self._score(step) + (self._ends if step == self.n_steps - 1 else 0.0)
            backward.append(np.logaddexp.reduce(moves + backward[-1], axis=1))
        total = np.logaddexp.reduce(forward[-1])
        tags = np.zeros((self.n_steps, len(TAGS)))
        locations = np.zeros((self.n_steps + 1, self.n_candidates))
        # The ends are part of the last forward step and of the first backward one.
        for step in range(self.n_steps):
            joint = np.exp(forward[step] + backward[self.n_steps - 1 - step] - total)
            np.add.at(tags[step], self._tags, joint)
            _add_locations(locations[step + 1], self._locations, joint)
        _add_locations(locations[0], self._first, np.exp(backward[-1] - total))
        exists = locations.sum(1, keepdims=True)
        return Marginals(tags, locations / np.where(exists > 0, exists, 1.0))


def build_chain(output: Output, index: int, name: str, fixes: Fixes) -> TrajectoryChain:
    """Build the chain of an entity; if its fixes contradict each other, say whose they are."""
    try:
        return TrajectoryChain(output, index, fixes)
    except KoalaError as error:
        raise KoalaError(f"{name}: {error}" if name else str(error)) from None


def _allow(locations: Ints, fix: Fix | None) -> Floats:
    if fix is None or fix.location is None:
        return np.zeros(len(locations))
    return np.where(locations == fix.location, 0.0, IMPOSSIBLE)


def _add_locations(total: Floats, locations: Ints, probabilities: Floats) -> None:
    is_there = locations != NOWHERE
    np.add.at(total, locations[is_there], probabilities[is_there])
