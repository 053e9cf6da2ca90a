"""Which word pieces an encoder has to guess, and what stands in their places. No torch here.

Masks are drawn anew in every epoch from the seed, the epoch and the number of the example alone, so
that they are the same in every run, in every process and after a resume.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

IGNORED = -100
"""The label of a piece that is not to be guessed."""


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenised text with its special pieces."""

    subwords: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...]
    """What may be masked: positions of pieces that are masked together, such as a word's."""


@dataclass(frozen=True, slots=True)
class Masked:
    """An example as an encoder reads it."""

    subwords: tuple[int, ...]
    labels: tuple[int, ...]
    """For every position the piece to guess, or IGNORED."""


class Masking(Protocol):
    """A strategy: which targets of an example are masked this time."""

    def mask(self, example: Example, rng: np.random.Generator) -> Masked:
        """Mask an example."""
        ...


@dataclass(frozen=True, slots=True)
class Replacement:
    """What stands in the place of a piece to guess: the mask, a random piece, or the piece itself.

    The shares are BERT's (Devlin et al. 2019, section 3.1), drawn for each piece by itself; the
    KoaLa paper does not give its own.
    """

    mask_subword: int
    ordinary: Sequence[int]
    """The pieces that a random one is drawn from."""
    mask_share: float = 0.8
    random_share: float = 0.1

    def apply(
        self, example: Example, targets: Iterable[tuple[int, ...]], rng: np.random.Generator
    ) -> Masked:
        """Replace the pieces of some targets."""
        subwords = list(example.subwords)
        labels = [IGNORED] * len(subwords)
        for position in (position for target in targets for position in target):
            labels[position] = subwords[position]
            draw = rng.random()
            if draw < self.mask_share:
                subwords[position] = self.mask_subword
            elif draw < self.mask_share + self.random_share:
                subwords[position] = self.ordinary[int(rng.integers(len(self.ordinary)))]
        return Masked(tuple(subwords), tuple(labels))


@dataclass(frozen=True, slots=True)
class WordMasking:
    """Text (section 5.1): each noun and verb is masked whole with probability 0.3, nothing else."""

    replacement: Replacement
    probability: float = 0.3

    def mask(self, example: Example, rng: np.random.Generator) -> Masked:
        """Mask some of the words that may be."""
        draws = rng.random(len(example.targets))
        chosen = [
            t for t, draw in zip(example.targets, draws, strict=True) if draw < self.probability
        ]
        return self.replacement.apply(example, chosen, rng)


@dataclass(frozen=True, slots=True)
class TripleMasking:
    """Triples (section 5.2): an instance says itself what is masked, see `split_instances`."""

    replacement: Replacement

    def mask(self, example: Example, rng: np.random.Generator) -> Masked:
        """Mask all that the instance has to guess."""
        return self.replacement.apply(example, example.targets, rng)


def split_instances(triple: Example) -> tuple[Example, ...]:
    """Make the instances of a triple whose targets are its head, relation and tail.

    Each is masked in turn; a head or tail of several pieces has half of them masked at a time, the
    first half the longer one, a relation is masked whole. (rain, CreatedBy, rain clouds) gives the
    four instances of the paper's figure:

    >>> triple = Example((101, 7, 102, 4, 5, 6, 102, 7, 8, 102), ((1,), (3, 4, 5), (7, 8)))
    >>> [instance.targets for instance in split_instances(triple)]
    [((1,),), ((3, 4, 5),), ((7,),), ((8,),)]
    """
    head, relation, tail = triple.targets
    turns = (*_halves(head), relation, *_halves(tail))
    return tuple(Example(triple.subwords, (turn,)) for turn in turns if turn)


def _halves(target: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    middle = (len(target) + 1) // 2
    return target[:middle], target[middle:]


def build_rng(seed: int, epoch: int, index: int) -> np.random.Generator:
    """Give the random numbers of an example in an epoch."""
    return np.random.default_rng((seed, epoch, index))
