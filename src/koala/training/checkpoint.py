"""Checkpoints: safetensors files that contain the settings; they are written atomically."""

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
from koala.files import replacing
from koala.network.torch.koala import KoalaModel, build_model
from koala.settings import Settings
from koala.training.ema import EMA

LAST = "last.safetensors"
"""Weights, optimizer and moving average after the last finished epoch: what a run resumes from."""
BEST = "best.safetensors"
"""Weights of the selected epoch: their moving average, if the run has one. `training.selection`
decides which epoch it is, the best on dev or the last."""
_AVERAGE_STEPS = "steps-of-average"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training has come."""

    epoch: int = 0
    """The last finished epoch."""
    best_epoch: int = 0
    """The selected epoch so far."""
    best_f1: float = -1.0
    """Its dev F1."""


def save_checkpoint(
    path: Path,
    model: nn.Module,
    settings: Settings,
    progress: Progress,
    optimizer: torch.optim.Optimizer | None = None,
    average: EMA | None = None,
) -> None:
    """Write weights, settings and progress; with optimizer and average, training can resume."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    if optimizer is not None:
        tensors |= _optimizer_tensors(optimizer)
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.weights.items()}
        tensors[_AVERAGE_STEPS] = torch.tensor(average.n_steps)
    metadata = {"settings": settings.to_toml(), "progress": json.dumps(asdict(progress))}
    contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with replacing(path) as temporary:
        save_file(contiguous, temporary, metadata=metadata)


def read_checkpoint_settings(path: Path) -> tuple[Settings, Progress]:
    """Read the settings and the progress inside a checkpoint."""
    with _open(path) as file:
        metadata: Mapping[str, str] = file.metadata() or {}
    if "settings" not in metadata or "progress" not in metadata:
        raise FileError(
            path, "not a checkpoint of koala: it contains no settings. Choose one of `koala train`."
        )
    return Settings.from_toml(metadata["settings"]), Progress(**json.loads(metadata["progress"]))


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    average: EMA | None = None,
) -> Progress:
    """Load weights into a model and, if given, the states of the optimizer and the average."""
    _, progress = read_checkpoint_settings(path)
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


def load_matching_weights(run: Path, model: nn.Module, settings: Settings) -> None:
    """Load those weights of another run that have the same name and shape.

    The CRF is not loaded, because it depends on the corpus. The run must have the same encoder and
    the same meaning of tags.
    """
    path = run / BEST
    other, _ = read_checkpoint_settings(path)
    for name, theirs, ours in (
        ("encoder.name", other.encoder.name, settings.encoder.name),
        ("decoder.tags", other.decoder.tags, settings.decoder.tags),
    ):
        if theirs != ours:
            raise FileError(
                path,
                f"training cannot start from this run: {name} is {theirs!r} there and {ours!r} "
                "here. Choose a run with the same value.",
            )
    own = model.state_dict()
    matching = {
        name: value
        for name, value in _take(_read_tensors(path), "model.").items()
        if not name.startswith("crf.") and name in own and own[name].shape == value.shape
    }
    model.load_state_dict(matching, strict=False)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    with _open(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


_OLD_WEIGHTS = {"locations.place.weight": "locations.location.weight"}
"""Names of weights in the checkpoints of earlier versions."""


def _take(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    found = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    return {_OLD_WEIGHTS.get(name, name): tensor for name, tensor in found.items()}


def open_checkpoint(path: Path) -> tuple[KoalaModel, Settings]:
    """Build the model of a checkpoint file, or of the selected epoch in the folder of a run."""
    path = path / BEST if path.is_dir() else path
    settings, _ = read_checkpoint_settings(path)
    model = build_model(settings.without_initial_weights())
    load_checkpoint(path, model)
    return model, settings


def _open(path: Path) -> Any:  # noqa: ANN401
    if not path.is_file():
        raise FileError(path, "no such checkpoint. Expected a run of `koala train`.")
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
        raise KoalaError(
            f"The checkpoint's optimizer has at least {max(state) + 1} parameters, the model "
            f"{n_parameters}. Resume with the settings that the run began with."
        )
    optimizer.load_state_dict({**whole, "state": state})
