"""Pretrained transformers: loading, freezing, and running some of their layers."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from koala.errors import FileError, KoalaError

_DROPOUT_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob")

Layers = Literal["last", "mixture"]


def load_transformer(folder: Path, *, dropout: float | None = None) -> nn.Module:
    """Load a transformer without head and pooler; `dropout` replaces its published rates."""
    from transformers import AutoModel

    if not (folder / "config.json").is_file():
        raise FileError(folder, "no config.json here; expected the folder of an encoder.")
    rates = {} if dropout is None else dict.fromkeys(_DROPOUT_RATES, dropout)
    with quiet_transformers():
        try:
            transformer: nn.Module = AutoModel.from_pretrained(
                str(folder), add_pooling_layer=False, dtype=torch.float32, **rates
            )
        except TypeError:
            # Families without a pooler reject the argument.
            transformer = AutoModel.from_pretrained(str(folder), dtype=torch.float32, **rates)
    return transformer


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers: no progress bars, no report that the pooler's weights are unused."""
    from transformers.utils import logging as messages

    had_bars, level = messages.is_progress_bar_enabled(), messages.get_verbosity()
    messages.disable_progress_bar()  # type: ignore[no-untyped-call]
    messages.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        messages.set_verbosity(level)
        if had_bars:
            messages.enable_progress_bar()  # type: ignore[no-untyped-call]


def run_layers(
    transformer: nn.Module,
    inputs: Tensor,
    mask: Tensor,
    layers: Layers = "last",
    *,
    start: int | None = None,
    stop: int | None = None,
) -> Tensor:
    """Run the layers from `start` to before `stop`: (rows, layers, subwords, hidden).

    Without `start`, inputs are subwords (rows, subwords) and pass through the embeddings first;
    with it they are hidden states (rows, subwords, hidden). `layers="last"` gives the output of the
    last layer, "mixture" the input of the first layer and the outputs of all.
    """
    if start is not None and start >= depth_of(transformer) - 1:
        return inputs.unsqueeze(1)
    if _find_layers(transformer) is not None:
        states = _run_parts(transformer, inputs, mask, start=start, stop=stop)
    elif start is None:
        states = _run_whole(transformer, inputs, mask)[: None if stop is None else stop + 1]
    else:
        raise _cannot_be_split(transformer)
    return torch.stack(states if layers == "mixture" else states[-1:], dim=1)


def _run_parts(
    transformer: nn.Module, inputs: Tensor, mask: Tensor, *, start: int | None, stop: int | None
) -> list[Tensor]:
    """Run single layers, for families whose layers can be called one by one."""
    model: Any = transformer
    chosen = (_find_layers(transformer) or ())[start or 0 : stop]
    hidden: Tensor = model.embeddings(input_ids=inputs) if start is None else inputs
    barrier = torch.zeros(mask.shape, dtype=hidden.dtype, device=hidden.device)
    barrier = barrier.masked_fill(~mask, torch.finfo(hidden.dtype).min)[:, None, None, :]
    encoder = model.encoder
    # MPNet adds a bias for relative positions, the same in every layer.
    has_bias = hasattr(encoder, "compute_position_bias")
    extra = (encoder.compute_position_bias(hidden),) if has_bias else ()
    states = [hidden]
    for layer in chosen:
        output = layer(states[-1], barrier, *extra)
        states.append(output[0] if isinstance(output, tuple) else output)
    return states


def _run_whole(transformer: nn.Module, subwords: Tensor, mask: Tensor) -> list[Tensor]:
    """Run a transformer of any family; give the embeddings and the output of every layer."""
    model: Any = transformer
    output = model(
        input_ids=subwords, attention_mask=mask.long(), output_hidden_states=True, return_dict=True
    )
    return list(output.hidden_states)


def freeze_layers(transformer: nn.Module, n_layers: int) -> None:
    """Freeze the embeddings and the lowest layers; 0 freezes nothing, not even the embeddings."""
    if n_layers == depth_of(transformer) - 1:
        transformer.requires_grad_(False)
        return
    if not n_layers:
        return
    layers = _find_layers(transformer)
    if layers is None:
        raise _cannot_be_split(transformer)
    model: Any = transformer
    model.embeddings.requires_grad_(False)
    for layer in layers[:n_layers]:
        layer.requires_grad_(False)
    if hasattr(model.encoder, "relative_attention_bias"):
        # The frozen layers use it, too.
        model.encoder.relative_attention_bias.requires_grad_(False)


_CALLABLE = ("bert", "electra", "mpnet", "roberta", "xlm-roberta")
"""Families whose layers can be called one by one, with hidden states and an additive mask."""


def _find_layers(transformer: nn.Module) -> Sequence[nn.Module] | None:
    """Give the layers if they can be called one by one, else None."""
    config: Any = transformer.config
    if config.model_type not in _CALLABLE:
        return None
    model: Any = transformer
    layers: Sequence[nn.Module] = model.encoder.layer
    return layers


def _cannot_be_split(transformer: nn.Module) -> KoalaError:
    config: Any = transformer.config
    return KoalaError(
        f"Encoders of the family {config.model_type} can be frozen or trained only as a whole. Set "
        "encoder.is_frozen = true, or encoder.n_frozen_layers = 0 and an encoder.entity other than "
        f'"marked". Families that can be split: {", ".join(_CALLABLE)}.'
    )


def width_of(transformer: nn.Module) -> int:
    """Give the width of the hidden states."""
    config: Any = transformer.config
    return int(config.hidden_size)


def depth_of(transformer: nn.Module) -> int:
    """Count the layers, with the embeddings as one."""
    config: Any = transformer.config
    return int(config.num_hidden_layers) + 1
