"""Checkpoints: safetensors with the settings inside, written whole or not at all."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from koala.errors import FileError, KoalaError
from koala.network.torch.koala import KoalaModel, build_model
from koala.settings import Settings
from koala.training.ema import EMA

LAST = "last.safetensors"
BEST = "best.safetensors"
_AVERAGE_STEPS = "steps-of-average"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training has come."""

    epoch: int = 0
    best_epoch: int = 0
    best_f1: float = -1.0


def save_checkpoint(
    path: Path,
    model: nn.Module,
    settings: Settings,
    progress: Progress,
    optimizer: torch.optim.Optimizer | None = None,
    average: EMA | None = None,
) -> None:
    """Write weights, settings and progress, and what training needs to go on."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    if optimizer is not None:
        tensors |= _optimizer_tensors(optimizer)
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.weights.items()}
        tensors[_AVERAGE_STEPS] = torch.tensor(average.n_steps)
    metadata = {"settings": settings.to_toml(), "progress": json.dumps(asdict(progress))}
    temporary = path.with_name(f".{path.name}.tmp")
    contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    save_file(contiguous, temporary, metadata=metadata)
    temporary.replace(path)


def read_settings_of(path: Path) -> tuple[Settings, Progress]:
    """Read what a checkpoint says of itself."""
    with _open(path) as file:
        metadata: Mapping[str, str] = file.metadata() or {}
    if "settings" not in metadata or "progress" not in metadata:
        raise FileError(path, "not a checkpoint of koala: it has no settings inside.")
    return Settings.from_toml(metadata["settings"]), Progress(**json.loads(metadata["progress"]))


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    average: EMA | None = None,
) -> Progress:
    """Load weights into a model, and the state of optimizer and average where asked."""
    _, progress = read_settings_of(path)
    tensors = _read_tensors(path)
    weights = _take(tensors, "model.")
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise FileError(path, f"does not fit the model its settings describe: {error}") from None
    if optimizer is not None:
        _restore_optimizer(optimizer, _take(tensors, "optimizer."))
    if average is not None:
        average.load(_take(tensors, "average."), int(tensors[_AVERAGE_STEPS]))
    return progress


def load_fitting(run: Path, model: nn.Module, settings: Settings) -> None:
    """Load what of another run's weights has the same name and shape.

    The CRF is of its corpus and stays out. The run must read the same encoder, and mean the same by
    its tags.
    """
    path = run / BEST
    other, _ = read_settings_of(path)
    for name, theirs, ours in (
        ("encoder.name", other.encoder.name, settings.encoder.name),
        ("decoder.tags", other.decoder.tags, settings.decoder.tags),
    ):
        if theirs != ours:
            raise FileError(path, f"{name} is {theirs!r} there and {ours!r} here: nothing fits.")
    own = model.state_dict()
    fitting = {
        name: value
        for name, value in _take(_read_tensors(path), "model.").items()
        if not name.startswith("crf.") and name in own and own[name].shape == value.shape
    }
    model.load_state_dict(fitting, strict=False)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    with _open(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


_OLD_WEIGHTS = {"locations.place.weight": "locations.location.weight"}
"""Names of weights in the checkpoints of earlier versions."""


def _take(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    found = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    return {_OLD_WEIGHTS.get(name, name): tensor for name, tensor in found.items()}


def open_checkpoint(path: Path) -> tuple[KoalaModel, Settings]:
    """Build the model of a checkpoint, or of the best one in the folder of a run."""
    path = path / BEST if path.is_dir() else path
    settings, _ = read_settings_of(path)
    model = build_model(settings.without_stages())
    load_checkpoint(path, model)
    return model, settings


def _open(path: Path) -> Any:  # noqa: ANN401
    if not path.is_file():
        raise FileError(path, "no such checkpoint.")
    try:
        return safe_open(path, framework="pt")
    except Exception as error:
        raise FileError(path, f"not a safetensors file ({error}).") from None


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    tensors = {}
    for index, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value)
    return tensors


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    whole = optimizer.state_dict()
    n_parameters = sum(len(group["params"]) for group in whole["param_groups"])
    if state and max(state) >= n_parameters:
        raise KoalaError("The checkpoint's optimizer has more parameters than the model.")
    optimizer.load_state_dict({**whole, "state": state})
