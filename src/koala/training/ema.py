"""A running average of the weights: what swings from batch to batch is evened out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class EMA:
    """Keeps `share` of the old average at each step, less in the first steps; of what learns."""

    def __init__(self, model: nn.Module, share: float) -> None:
        self._share = share
        self._parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.weights = {name: p.detach().clone() for name, p in self._parameters.items()}
        self.n_steps = 0

    def update(self) -> None:
        """Take in the weights as they are now."""
        self.n_steps += 1
        # The first weights are those of no training: they are soon forgotten.
        share = min(self._share, self.n_steps / (self.n_steps + 9))
        for name, parameter in self._parameters.items():
            self.weights[name].lerp_(parameter.detach(), 1 - share)

    def load(self, weights: Mapping[str, Tensor], n_steps: int) -> None:
        """Go on with an average that was saved."""
        for name, value in weights.items():
            self.weights[name].copy_(value)
        self.n_steps = n_steps

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Put the average into the model, and what was there back again."""
        with torch.no_grad():
            kept = {name: p.detach().clone() for name, p in self._parameters.items()}
            self._copy(self.weights)
            try:
                yield
            finally:
                self._copy(kept)

    def _copy(self, weights: Mapping[str, Tensor]) -> None:
        for name, parameter in self._parameters.items():
            parameter.data.copy_(weights[name])
