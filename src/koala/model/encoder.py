"""Text encoder and knowledge encoder (sections 4.2.1 and 4.3.2)."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from koala.errors import FileError
from koala.model.pooling import SequenceLSTM, masked_mean

_MOST_VALUES = 400_000_000
"""Kept at most of what frozen transformers say, in half precision: 800 MB."""

Layers = Literal["last", "mixture"]


class _Encoder(nn.Module):
    """A transformer with a trained BiLSTM and dropout behind it, as in the published model.

    While the transformer is frozen, each distinct row of pieces passes it once in a run.
    """

    def __init__(
        self,
        transformer: nn.Module,
        *,
        token_width: int,
        dropout: float,
        is_frozen: bool,
        layers: Layers = "last",
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self.frozen = FrozenRows(transformer, layers) if is_frozen else None
        self.layers: Layers = layers
        if is_frozen:
            transformer.requires_grad_(False)
        self.mixture = LayerMixture(_depth_of(transformer)) if layers == "mixture" else None
        self.lstm = SequenceLSTM(input_width=_width_of(transformer), width=token_width)
        self.dropout = nn.Dropout(dropout)
        self.width = self.lstm.width

    def read(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Give what the transformer and the BiLSTM say: (rows, pieces, width)."""
        if self.frozen is not None:
            layers = self.frozen.get(pieces, mask)
        else:
            layers = run_transformer(self.transformer, pieces, mask, self.layers)
        hidden = layers[:, 0] if self.mixture is None else self.mixture(layers)
        states: Tensor = self.lstm(self.dropout(hidden), mask.sum(1))
        return states


class TextEncoder(_Encoder):
    """[CLS] X_1 … X_T [SEP] → a vector for every word piece, each procedure once."""

    def forward(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Encode (procedures, pieces) to (procedures, pieces, width)."""
        states: Tensor = self.dropout(self.read(pieces, mask))
        return states


class TripleEncoder(_Encoder):
    """[CLS] head [SEP] relation [SEP] tail [SEP] → one vector, the mean over its words (eq. 9)."""

    def forward(self, pieces: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, pieces) to (distinct triples, width)."""
        states = self.read(pieces, input_mask)
        means: Tensor = self.dropout(masked_mean(word_mask.unsqueeze(1), states).squeeze(1))
        return means


class LayerMixture(nn.Module):
    """γ Σ s_j h_j over all layers j, s = softmax w: how ELMo is read (Peters et al. 2018)."""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(n_layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """Mix (rows, layers, pieces, hidden) to (rows, pieces, hidden)."""
        shares = self.weights.softmax(0)
        return self.scale * torch.einsum("rlph,l->rph", layers, shares)


class FrozenRows:
    """What a frozen transformer says of rows of pieces; it runs without dropout, once a row."""

    def __init__(self, transformer: nn.Module, layers: Layers) -> None:
        self._transformer = transformer
        self._layers: Layers = layers
        self._known: dict[bytes, Tensor] = {}
        self._n_values = 0

    def get(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Give (rows, layers, pieces, hidden); zero at padding."""
        lengths = mask.sum(1).tolist()
        keys = [row[:n].numpy().tobytes() for row, n in zip(pieces.cpu(), lengths, strict=True)]
        if self._n_values > _MOST_VALUES:
            self._known.clear()
            self._n_values = 0
        new = list({key: i for i, key in enumerate(keys) if key not in self._known}.values())
        if new:
            self._encode(pieces[new], mask[new], [keys[i] for i in new])
        rows = [self._known[key] for key in keys]
        first = rows[0]
        shape = (len(rows), first.shape[0], pieces.shape[1], first.shape[2])
        table = torch.zeros(shape, device=pieces.device)
        for number, row in enumerate(rows):
            table[number, :, : row.shape[1]] = row.float()
        return table

    def _encode(self, pieces: Tensor, mask: Tensor, keys: Sequence[bytes]) -> None:
        self._transformer.eval()
        with torch.no_grad():
            hidden = run_transformer(self._transformer, pieces, mask, self._layers)
        for row, key, length in zip(hidden, keys, mask.sum(1).tolist(), strict=True):
            # Half precision halves the memory; it is the same in every epoch.
            self._known[key] = row[:, :length].half()
            self._n_values += self._known[key].numel()


def load_transformer(folder: Path) -> nn.Module:
    """Load a transformer without head and pooler; dropout inside it stays as published."""
    from transformers import AutoModel

    if not (folder / "config.json").is_file():
        raise FileError(folder, "no config.json here; the folder of an encoder was expected.")
    with without_bars():
        transformer: nn.Module = AutoModel.from_pretrained(
            str(folder), add_pooling_layer=False, dtype=torch.float32
        )
    return transformer


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep transformers from drawing bars of its own, and from reporting the pooler as unused."""
    from transformers.utils import logging as talk

    had_bars, level = talk.is_progress_bar_enabled(), talk.get_verbosity()
    talk.disable_progress_bar()  # type: ignore[no-untyped-call]
    talk.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        talk.set_verbosity(level)
        if had_bars:
            talk.enable_progress_bar()  # type: ignore[no-untyped-call]


def build_transformer(config: dict[str, Any]) -> nn.Module:
    """Build a transformer from its configuration, without weights."""
    from transformers import AutoConfig, AutoModel

    values = dict(config)
    made = AutoConfig.for_model(values.pop("model_type"), **values)
    transformer: nn.Module = AutoModel.from_config(made, add_pooling_layer=False)  # type: ignore[no-untyped-call]
    return transformer


def run_transformer(
    transformer: nn.Module, pieces: Tensor, mask: Tensor, layers: Layers = "last"
) -> Tensor:
    """Give (rows, layers, pieces, hidden): the last layer, or the embeddings and all layers."""
    wants_all = layers == "mixture"
    output = transformer(
        input_ids=pieces, attention_mask=mask.long(), output_hidden_states=wants_all
    )
    return torch.stack(output.hidden_states if wants_all else [output.last_hidden_state], dim=1)


def _width_of(transformer: nn.Module) -> int:
    config: Any = transformer.config
    return int(config.hidden_size)


def _depth_of(transformer: nn.Module) -> int:
    """Count the layers, the embeddings as one."""
    config: Any = transformer.config
    return int(config.num_hidden_layers) + 1
