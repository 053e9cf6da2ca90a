"""Adam with separate learning rates for pretrained and new weights, and their schedule."""

import re
from collections.abc import Iterator

import torch
from torch import nn

from koala.settings import Settings, TrainingSettings

_WARM_UP = 0.1
"""Share of all batches over which the learning rates rise."""


def build_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """Build Adam: the learning rate for pretrained weights, the head's rate for all others."""
    training = settings.training
    head_rate = training.head_learning_rate or training.learning_rate
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter, depth in _find_trained(model):
        is_pretrained = ".transformer." in name
        rate = training.learning_rate * training.layer_decay**depth if is_pretrained else head_rate
        groups.setdefault(rate, []).append(parameter)
    return torch.optim.Adam(
        [{"params": each, "lr": rate, "full_rate": rate} for rate, each in groups.items()],
        fused=training.is_fused,
    )


def _find_trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter, int]]:
    """Give the trained parameters, each with the number of layers above it in its encoder."""
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    n_layers: dict[str, int] = {}
    for name, _ in trained:
        encoder, number = _layer_of(name)
        n_layers[encoder] = max(n_layers.get(encoder, 0), number)
    for name, parameter in trained:
        encoder, number = _layer_of(name)
        yield name, parameter, n_layers[encoder] - number


def _layer_of(name: str) -> tuple[str, int]:
    """Give the encoder and the layer of a parameter, by its name; embeddings are layer 0."""
    encoder = name.split(".transformer.")[0]
    found = re.search(r"\.layer\.(\d+)\.", name)
    return encoder, int(found[1]) + 1 if found else 0


def set_rates(optimizer: torch.optim.Optimizer, training: TrainingSettings, done: float) -> None:
    """Set the learning rates for the next batch; `done` is the share of training so far."""
    if training.schedule == "constant":
        return
    share = min(1.0, (done + 1e-3) / _WARM_UP, (1 - done) / (1 - _WARM_UP))
    for group in optimizer.param_groups:
        group["lr"] = group["full_rate"] * share
