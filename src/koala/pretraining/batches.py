"""Examples → masked batches, which are the same in every run, process and resumed run."""

import hashlib
import math
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from koala.pretraining.masking import IGNORED, Example, Masked, Masking, build_rng

_POOL = 50
"""Examples are sorted by length within this many batches: little padding, and still random."""

UNMASKED = -1
"""Index that gives an example without masked subwords."""


class MaskedDataset(Dataset[Masked]):
    """Examples with new masks in every epoch."""

    def __init__(self, examples: Sequence[Example], masking: Masking, *, seed: int) -> None:
        self.examples = examples
        self.masking = masking
        self.seed = seed
        self.epoch = 0
        """Set before each epoch."""

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> Masked:
        if index == UNMASKED:
            subwords = self.examples[0].subwords
            return Masked(subwords, (IGNORED,) * len(subwords))
        rng = build_rng(self.seed, self.epoch, index)
        return self.masking.mask(self.examples[index], rng)

    @property
    def n_subwords(self) -> int:
        """Number of subwords of all examples."""
        return sum(len(example.subwords) for example in self.examples)


class LengthSampler(Sampler[int]):
    """Samples examples in random order, such that those of a batch have similar lengths."""

    def __init__(self, dataset: MaskedDataset, *, batch: int) -> None:
        self.dataset = dataset
        self.batch = batch

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[int]:
        data, batch = self.dataset, self.batch
        # An index after the last example, so that order and masks are sampled independently.
        rng = build_rng(data.seed, data.epoch, len(data))
        order = rng.permutation(len(data))
        lengths = np.array([len(example.subwords) for example in data.examples])
        batches: list[list[int]] = []
        for start in range(0, len(order), batch * _POOL):
            pool = order[start : start + batch * _POOL]
            pool = pool[np.argsort(-lengths[pool], kind="stable")]
            batches += [pool[i : i + batch].tolist() for i in range(0, len(pool), batch)]
        # A short batch must be the last one, or it would shift the limits of all later batches.
        whole = [each for each in batches if len(each) == batch]
        short = [each for each in batches if len(each) < batch]
        for number in rng.permutation(len(whole)):
            yield from whole[number]
        for each in short:
            yield from each


class SharedBatches(Sampler[list[int]]):
    """Splits every batch among the processes and gives the share of one process.

    If the last batch has too few examples, the other processes get an unmasked example, from which
    nothing is learned.
    """

    def __init__(self, sampler: LengthSampler, *, index: int = 0, n_processes: int = 1) -> None:
        self.sampler = sampler
        self.index = index
        self.n_processes = n_processes

    def __len__(self) -> int:
        return math.ceil(len(self.sampler) / self.sampler.batch)

    def __iter__(self) -> Iterator[list[int]]:
        order = iter(self.sampler)
        while whole := list(islice(order, self.sampler.batch)):
            yield whole[self.index :: self.n_processes] or [UNMASKED]


def collate(examples: Sequence[Masked], pad: int) -> dict[str, Tensor]:
    """Build the three arguments of a language model, each (batch, subwords)."""
    width = max(len(example.subwords) for example in examples)
    subwords = torch.full((len(examples), width), pad)
    labels = torch.full((len(examples), width), IGNORED)
    mask = torch.zeros((len(examples), width), dtype=torch.bool)
    for row, example in enumerate(examples):
        length = len(example.subwords)
        subwords[row, :length] = torch.tensor(example.subwords)
        labels[row, :length] = torch.tensor(example.labels)
        mask[row, :length] = True
    return {"subwords": subwords, "mask": mask, "labels": labels}


def fingerprint(examples: Sequence[Example]) -> str:
    """Return twelve hexadecimal digits that identify the examples."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(np.array(example.subwords, dtype=np.int64).tobytes())
        digest.update(repr(example.targets).encode())
    return digest.hexdigest()[:12]
