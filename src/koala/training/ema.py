"""Exponential moving average of the weights, which smooths their changes from batch to batch."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class EMA:
    """Average of the trained weights: average ← decay · average + (1 − decay) · weights.

    In the first steps the decay is lower, so that the untrained weights are soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._decay = decay
        self._parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.weights = {name: p.detach().clone() for name, p in self._parameters.items()}
        self.n_steps = 0

    def update(self) -> None:
        """Update the average with the current weights."""
        self.n_steps += 1
        decay = min(self._decay, self.n_steps / (self.n_steps + 9))
        for name, parameter in self._parameters.items():
            self.weights[name].lerp_(parameter.detach(), 1 - decay)

    def load(self, weights: Mapping[str, Tensor], n_steps: int) -> None:
        """Load a saved average."""
        for name, value in weights.items():
            self.weights[name].copy_(value)
        self.n_steps = n_steps

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Put the average into the model for the block, then restore the current weights."""
        with torch.no_grad():
            current = {name: p.detach().clone() for name, p in self._parameters.items()}
            self._copy(self.weights)
            try:
                yield
            finally:
                self._copy(current)

    def _copy(self, weights: Mapping[str, Tensor]) -> None:
        for name, parameter in self._parameters.items():
            parameter.data.copy_(weights[name])
