"""Masking: which subwords an encoder must predict, and what replaces them. No torch here.

Masks are sampled in every epoch and depend only on the seed, the epoch and the index of the
example, so that they are the same in every run, in every process and after a resume.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

IGNORED = -100
"""Label of a subword that is not to be predicted."""


@dataclass(frozen=True, slots=True)
class Example:
    """A tokenized text with its special tokens."""

    subwords: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...]
    """What may be masked: groups of positions that are masked as a whole, such as a word's."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A masked example."""

    subwords: tuple[int, ...]
    labels: tuple[int, ...]
    """For every position the subword to predict, or IGNORED."""


class Masking(Protocol):
    """A strategy that chooses which targets of an example to mask."""

    def mask(self, example: Example, rng: np.random.Generator) -> Masked:
        """Mask an example."""
        ...


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replaces a masked subword by the mask token, a random subword, or itself.

    The choice is sampled for each subword, with BERT's shares (Devlin et al. 2019, section 3.1);
    the KoaLa paper does not give its own.
    """

    mask_subword: int
    ordinary: Sequence[int]
    """The subwords that a random one is sampled from."""
    mask_share: float = 0.8
    random_share: float = 0.1

    def apply(
        self, example: Example, targets: Iterable[tuple[int, ...]], rng: np.random.Generator
    ) -> Masked:
        """Replace the subwords of some targets."""
        subwords = list(example.subwords)
        labels = [IGNORED] * len(subwords)
        for position in (position for target in targets for position in target):
            labels[position] = subwords[position]
            sample = rng.random()
            if sample < self.mask_share:
                subwords[position] = self.mask_subword
            elif sample < self.mask_share + self.random_share:
                subwords[position] = self.ordinary[int(rng.integers(len(self.ordinary)))]
        return Masked(tuple(subwords), tuple(labels))


@dataclass(frozen=True, slots=True)
class WordMasking:
    """Text (section 5.1): masks each noun and verb as a whole with some probability."""

    replacement: Replacement
    probability: float = 0.3

    def mask(self, example: Example, rng: np.random.Generator) -> Masked:
        """Mask a random choice of targets."""
        samples = rng.random(len(example.targets))
        pairs = zip(example.targets, samples, strict=True)
        chosen = [target for target, sample in pairs if sample < self.probability]
        return self.replacement.apply(example, chosen, rng)


@dataclass(frozen=True, slots=True)
class TripleMasking:
    """Triples (section 5.2): masks all targets of an instance, see `split_instances`."""

    replacement: Replacement

    def mask(self, example: Example, rng: np.random.Generator) -> Masked:
        """Mask all targets."""
        return self.replacement.apply(example, example.targets, rng)


def split_instances(triple: Example) -> tuple[Example, ...]:
    """Split a triple with the targets head, relation and tail into instances of one target each.

    A relation is masked as a whole. A head or tail of several subwords is masked in two halves, of
    which the first may be longer by one. (rain, CreatedBy, rain clouds) gives the four instances of
    the paper's figure:

    >>> triple = Example((101, 7, 102, 4, 5, 6, 102, 7, 8, 102), ((1,), (3, 4, 5), (7, 8)))
    >>> [instance.targets for instance in split_instances(triple)]
    [((1,),), ((3, 4, 5),), ((7,),), ((8,),)]
    """
    head, relation, tail = triple.targets
    targets = (*_halves(head), relation, *_halves(tail))
    return tuple(Example(triple.subwords, (target,)) for target in targets if target)


def _halves(target: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    middle = (len(target) + 1) // 2
    return target[:middle], target[middle:]


def build_rng(seed: int, epoch: int, index: int) -> np.random.Generator:
    """Return the random number generator of an example in an epoch."""
    return np.random.default_rng((seed, epoch, index))
