"""Text encoder and knowledge encoder (sections 4.2.1 and 4.3.2)."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from koala.model.pooling import SequenceLSTM, masked_mean


class _Encoder(nn.Module):
    """A transformer with a trained BiLSTM and dropout behind it, as in the published model."""

    def __init__(
        self, transformer: nn.Module, *, token_width: int, dropout: float, is_frozen: bool
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self.is_frozen = is_frozen
        if is_frozen:
            transformer.requires_grad_(False)
        self.lstm = SequenceLSTM(input_width=_width_of(transformer), width=token_width)
        self.dropout = nn.Dropout(dropout)
        self.width = self.lstm.width


class TextEncoder(_Encoder):
    """[CLS] X_1 … X_T [SEP] → a vector for every word piece, each procedure once."""

    def forward(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Encode (procedures, pieces) to (procedures, pieces, width)."""
        hidden = run_transformer(self.transformer, pieces, mask, is_frozen=self.is_frozen)
        states: Tensor = self.dropout(self.lstm(self.dropout(hidden), mask.sum(1)))
        return states


class TripleEncoder(_Encoder):
    """[CLS] head [SEP] relation [SEP] tail [SEP] → one vector, the mean over its words (eq. 9).

    While the transformer is frozen each distinct triple passes it once in a run.
    """

    def __init__(
        self, transformer: nn.Module, *, token_width: int, dropout: float, is_frozen: bool
    ) -> None:
        super().__init__(transformer, token_width=token_width, dropout=dropout, is_frozen=is_frozen)
        self._cache: dict[bytes, Tensor] = {}

    def forward(self, pieces: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, pieces) to (distinct triples, width)."""
        if self.is_frozen:
            hidden = self._encode_cached(pieces, input_mask)
        else:
            hidden = run_transformer(self.transformer, pieces, input_mask, is_frozen=False)
        states = self.lstm(self.dropout(hidden), input_mask.sum(1))
        means: Tensor = self.dropout(masked_mean(word_mask.unsqueeze(1), states).squeeze(1))
        return means

    def _encode_cached(self, pieces: Tensor, mask: Tensor) -> Tensor:
        lengths = mask.sum(1).tolist()
        keys = [row[:n].numpy().tobytes() for row, n in zip(pieces.cpu(), lengths, strict=True)]
        new = [i for i, key in enumerate(keys) if key not in self._cache]
        if new:
            hidden = run_transformer(self.transformer, pieces[new], mask[new], is_frozen=True)
            for row, index in enumerate(new):
                # Half precision halves the memory of the cache; it is the same in every epoch.
                self._cache[keys[index]] = hidden[row, : lengths[index]].half()
        table = torch.zeros(*pieces.shape, _width_of(self.transformer), device=pieces.device)
        for row, (key, length) in enumerate(zip(keys, lengths, strict=True)):
            table[row, :length] = self._cache[key].float()
        return table


def load_transformer(folder: Path) -> nn.Module:
    """Load a transformer without a head; dropout inside it stays as published."""
    from transformers import AutoModel

    transformer: nn.Module = AutoModel.from_pretrained(
        str(folder), add_pooling_layer=False, dtype=torch.float32
    )
    return transformer


def build_transformer(config: dict[str, Any]) -> nn.Module:
    """Build a transformer from its configuration, without weights."""
    from transformers import AutoConfig, AutoModel

    values = dict(config)
    made = AutoConfig.for_model(values.pop("model_type"), **values)
    transformer: nn.Module = AutoModel.from_config(made, add_pooling_layer=False)  # type: ignore[no-untyped-call]
    return transformer


def run_transformer(
    transformer: nn.Module, pieces: Tensor, mask: Tensor, *, is_frozen: bool
) -> Tensor:
    """Give the last layer (rows, pieces, hidden); a frozen transformer runs without dropout."""
    if is_frozen:
        transformer.eval()
    with torch.set_grad_enabled(torch.is_grad_enabled() and not is_frozen):
        output = transformer(input_ids=pieces, attention_mask=mask.long())
    hidden: Tensor = output.last_hidden_state
    return hidden


def _width_of(transformer: nn.Module) -> int:
    config: Any = transformer.config
    return int(config.hidden_size)
