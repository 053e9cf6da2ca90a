"""Text encoder and knowledge encoder (sections 4.2.1 and 4.3.2)."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from koala.document import CONVENTIONS
from koala.errors import KoalaError
from koala.network.torch.pooling import SequenceLSTM, look_up, masked_mean
from koala.network.torch.precision import Precision, computing_in
from koala.network.torch.transformer import (
    Layers,
    depth_of,
    freeze_layers,
    run_layers,
    width_of,
)

_MOST_VALUES = 2_000_000_000
"""Kept at most of what frozen transformers say, in half precision: 4 GB. All layers of MPNet take
0.7 GB for ProPara, 3.4 GB with 1,400 paragraphs more to learn from."""


class _Encoder(nn.Module):
    """A transformer with a trained BiLSTM and dropout behind it, as in the published model.

    Of texts the model drops out itself, as often as it wants; triples drop out here.

    Each distinct row of pieces passes what is frozen of the transformer once in a run.
    """

    def __init__(
        self,
        transformer: nn.Module,
        *,
        token_width: int,
        dropout: float,
        is_frozen: bool,
        n_frozen_layers: int = 0,
        input_dropout: float = 0.0,
        layers: Layers = "last",
        precision: Precision = "float32",
        has_convention: bool = False,
        projected_width: int = 0,
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self.layers: Layers = layers
        self.precision: Precision = precision
        """Of what is run to learn; what is frozen runs once in float32, and so does scoring."""
        self.n_frozen = depth_of(transformer) - 1 if is_frozen else n_frozen_layers
        self.is_frozen = self.n_frozen == depth_of(transformer) - 1
        freeze_layers(transformer, self.n_frozen)
        self.frozen: FrozenRows | None = None
        if self.n_frozen:
            self.frozen = FrozenRows(transformer, layers, n_layers=self.n_frozen)
        self.mixture = LayerMixture(depth_of(transformer)) if layers == "mixture" else None
        width = projected_width or width_of(transformer)
        self.projection: nn.Linear | None = None
        if projected_width:
            self.projection = nn.Linear(width_of(transformer), projected_width)
        self.lstm = SequenceLSTM(input_width=width, width=token_width) if token_width else None
        self.convention: nn.Embedding | None = None
        if has_convention:
            self.convention = nn.Embedding(len(CONVENTIONS), width)
            nn.init.zeros_(self.convention.weight)
        self.input_dropout = nn.Dropout(input_dropout)
        self.dropout = nn.Dropout(dropout)
        self.width = self.lstm.width if self.lstm else width

    def read(self, subwords: Tensor, mask: Tensor, convention: Tensor | None = None) -> Tensor:
        """Give what the transformer and the BiLSTM say: (rows, pieces, width)."""
        return self.read_mixed(self.read_layers(subwords, mask), mask, convention)

    def read_layers(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """Run the transformer: (rows, layers, pieces, hidden), all layers or the last."""
        if self.frozen is None:
            return self.run_layers(subwords, mask)
        layers = self.frozen.get(subwords, mask)
        upper = self.run_layers(layers[:, -1], mask, start=self.n_frozen)
        return upper if self.mixture is None else torch.cat([layers[:, :-1], upper], dim=1)

    def read_mixed(self, layers: Tensor, mask: Tensor, convention: Tensor | None = None) -> Tensor:
        """Mix the layers and run the BiLSTM over them: (rows, pieces, width)."""
        return self.read_tokens(self.mix(layers), mask, convention)

    def mix(self, layers: Tensor) -> Tensor:
        """Mix (rows, layers, pieces, hidden), or take the last, and project it."""
        hidden = layers[:, 0] if self.mixture is None else self.mixture(layers)
        if self.projection is not None:
            hidden = self.projection(self.input_dropout(hidden))
        return hidden

    def run_layers(
        self, inputs: Tensor, mask: Tensor, *, start: int | None = None, stop: int | None = None
    ) -> Tensor:
        """Run some layers of the transformer in the precision of this encoder."""
        with computing_in(self.precision if self.training else "float32", inputs.device):
            layers = run_layers(self.transformer, inputs, mask, self.layers, start=start, stop=stop)
        return layers.float()

    def read_tokens(self, hidden: Tensor, mask: Tensor, convention: Tensor | None = None) -> Tensor:
        """Run the BiLSTM, where there is one, over (rows, pieces, hidden); convention (rows,)."""
        if self.convention is not None and convention is not None:
            hidden = hidden + self.convention(convention).unsqueeze(1)
        if self.lstm is None:
            return hidden
        if self.projection is None:
            hidden = self.input_dropout(hidden)
        states: Tensor = self.lstm(hidden, mask.sum(1))
        return states


class TextEncoder(_Encoder):
    """[CLS] X_1 … X_T [SEP] → a vector for every word piece, each procedure once."""

    def forward(self, subwords: Tensor, mask: Tensor, convention: Tensor) -> Tensor:
        """Encode (procedures, pieces) to (procedures, pieces, width), before dropout.

        Shapes: convention (procedures,).
        """
        return self.read(subwords, mask, convention)


class EntityEncoder(_Encoder):
    """The text as read for one entity: the upper layers know where it is mentioned.

    The lower layers run once for all entities of a procedure, or for each where its name stands in
    front of the text; frozen, once in a run.
    """

    def __init__(
        self,
        transformer: nn.Module,
        *,
        token_width: int,
        dropout: float,
        n_shared_layers: int,
        n_frozen_layers: int,
        has_marks: bool = True,
        input_dropout: float = 0.0,
        layers: Layers = "last",
        precision: Precision = "float32",
        has_convention: bool = False,
        projected_width: int = 0,
    ) -> None:
        super().__init__(
            transformer,
            token_width=token_width,
            dropout=dropout,
            is_frozen=False,
            n_frozen_layers=n_frozen_layers,
            input_dropout=input_dropout,
            layers=layers,
            precision=precision,
            has_convention=has_convention,
            projected_width=projected_width,
        )
        self.n_shared = n_shared_layers
        if projected_width and n_shared_layers != depth_of(transformer) - 1:
            raise KoalaError("encoder.projected_width needs an encoder that all entities share.")
        if layers == "mixture" and n_shared_layers != depth_of(transformer) - 1:
            raise KoalaError(
                'encoder.layers = "mixture" reads all layers, so all must be shared: '
                f"set encoder.n_shared_layers to {depth_of(transformer) - 1}."
            )
        if n_frozen_layers > n_shared_layers:
            raise KoalaError(
                "Mentions are marked above the shared layers, so frozen layers must be shared: "
                "set encoder.n_frozen_layers to at most encoder.n_shared_layers."
            )
        self.marker: nn.Parameter | None = None
        if has_marks:
            width = projected_width or width_of(transformer)
            self.marker = nn.Parameter(torch.randn(width) * 0.02)

    def forward(
        self, subwords: Tensor, mask: Tensor, convention: Tensor, owner: Tensor, mentions: Tensor
    ) -> Tensor:
        """Encode (procedures, pieces) to (batch, pieces, width), before dropout.

        Shapes: convention (procedures,), owner (batch,) the procedure of each entity, mentions
        (batch, pieces).
        """
        layers = self.read_layers(subwords, mask)
        return self.read_entities(layers, mask, convention, owner, mentions)

    def read_layers(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """Run the layers that all entities share: (procedures, layers, pieces, hidden)."""
        if self.frozen is None:
            return self.run_layers(subwords, mask, stop=self.n_shared)
        layers = self.frozen.get(subwords, mask)
        if self.n_frozen == self.n_shared:
            return layers
        upper = self.run_layers(layers[:, -1], mask, start=self.n_frozen, stop=self.n_shared)
        return upper if self.mixture is None else torch.cat([layers[:, :-1], upper], dim=1)

    def read_entities(
        self, layers: Tensor, mask: Tensor, convention: Tensor, owner: Tensor, mentions: Tensor
    ) -> Tensor:
        """Run what is above the shared layers, for each entity: (batch, pieces, width)."""
        hidden = look_up(self.mix(layers), owner)
        if self.marker is not None:
            hidden = hidden + mentions.unsqueeze(-1) * self.marker
        own_mask = mask[owner]
        if self.n_shared < depth_of(self.transformer) - 1:
            hidden = self.run_layers(hidden, own_mask, start=self.n_shared)[:, -1]
        return self.read_tokens(hidden, own_mask, convention[owner])


class TripleEncoder(_Encoder):
    """[CLS] head [SEP] relation [SEP] tail [SEP] → one vector, the mean over its words (eq. 9)."""

    def forward(self, subwords: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, pieces) to (distinct triples, width)."""
        states = self.read(subwords, input_mask)
        means: Tensor = self.dropout(masked_mean(word_mask.unsqueeze(1), states).squeeze(1))
        return means


class SharedTripleEncoder(nn.Module):
    """Triples read by the frozen lower layers of a text encoder, and a BiLSTM of their own."""

    def __init__(
        self,
        transformer: nn.Module,
        *,
        n_layers: int,
        token_width: int,
        dropout: float,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not n_layers:
            raise KoalaError(
                'knowledge.encoder = "shared" reads the frozen layers of the text encoder: '
                "set encoder.n_frozen_layers to 1 or more."
            )
        # The layers belong to the text encoder: no part of this one.
        self._lower = (transformer, n_layers)
        self.frozen: FrozenRows | None = FrozenRows(transformer, n_layers=n_layers)
        self.lstm = SequenceLSTM(input_width=width_of(transformer), width=token_width)
        self.input_dropout = nn.Dropout(input_dropout)
        self.dropout = nn.Dropout(dropout)
        self.width = self.lstm.width

    def forward(self, subwords: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, pieces) to (distinct triples, width)."""
        return self.read_hidden(self.read_layers(subwords, input_mask), input_mask, word_mask)

    def share_layers(self, transformer: nn.Module) -> None:
        """Read the layers of another transformer that has the same weights."""
        self._lower = (transformer, self._lower[1])
        self.frozen = None

    def read_layers(self, subwords: Tensor, input_mask: Tensor) -> Tensor:
        """Run the shared lower layers: (distinct triples, pieces, hidden)."""
        if self.frozen is not None:
            return self.frozen.get(subwords, input_mask)[:, 0]
        transformer, n_layers = self._lower
        return run_layers(transformer, subwords, input_mask, stop=n_layers)[:, 0]

    def read_hidden(self, hidden: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Run the BiLSTM and average over words: (distinct triples, width)."""
        states = self.lstm(self.input_dropout(hidden), input_mask.sum(1))
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
    """What frozen layers say of rows of pieces; they run without dropout, once a row."""

    def __init__(self, transformer: nn.Module, layers: Layers = "last", *, n_layers: int) -> None:
        self._transformer = transformer
        self._layers: Layers = layers
        self._n_layers = n_layers
        self._known: dict[bytes, Tensor] = {}
        self._n_values = 0
        self._folder: Path | None = None

    def keep_in(self, folder: Path) -> None:
        """Read rows from a folder, and write them there, for other runs of the same encoder.

        A row of MPNet takes about two megabytes. Rows of several encoders may lie in one folder.
        """
        digest = hashlib.sha256(f"{self._layers} {self._n_layers}".encode())
        for value in self._transformer.state_dict().values():
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        self._folder = folder / digest.hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """Give (rows, layers, pieces, hidden); zero at padding."""
        lengths = mask.sum(1).tolist()
        keys = [row[:n].numpy().tobytes() for row, n in zip(subwords.cpu(), lengths, strict=True)]
        if self._n_values > _MOST_VALUES:
            self._known.clear()
            self._n_values = 0
        self._read_kept(keys)
        new = list({key: i for i, key in enumerate(keys) if key not in self._known}.values())
        if new:
            self._encode(subwords[new], mask[new], [keys[i] for i in new])
        rows = [self._known[key] for key in keys]
        first = rows[0]
        shape = (len(rows), first.shape[0], subwords.shape[1], first.shape[2])
        table = torch.zeros(shape, device=subwords.device)
        for number, row in enumerate(rows):
            table[number, :, : row.shape[1]] = row.float()
        return table

    def _encode(self, subwords: Tensor, mask: Tensor, keys: Sequence[bytes]) -> None:
        was_training = self._transformer.training
        self._transformer.eval()
        with torch.no_grad():
            hidden = run_layers(
                self._transformer, subwords, mask, self._layers, stop=self._n_layers
            )
        self._transformer.train(was_training)
        for row, key, length in zip(hidden, keys, mask.sum(1).tolist(), strict=True):
            # Half precision halves the memory; it is the same in every epoch.
            self._known[key] = row[:, :length].half()
            if self._folder is None:
                self._n_values += self._known[key].numel()
            else:
                self._write(key, self._known[key])

    def _read_kept(self, keys: Sequence[bytes]) -> None:
        """Open rows that lie in the folder; they are read when needed, and take no memory."""
        for key in keys if self._folder else ():
            path = self._path_of(key)
            if key not in self._known and path.is_file():
                self._known[key] = torch.from_numpy(np.load(path, mmap_mode="r+"))

    def _write(self, key: bytes, row: Tensor) -> None:
        path = self._path_of(key)
        temporary = path.with_suffix(f".{os.getpid()}.tmp.npy")
        np.save(temporary, row.cpu().numpy())
        temporary.replace(path)
        self._known[key] = torch.from_numpy(np.load(path, mmap_mode="r+"))

    def _path_of(self, key: bytes) -> Path:
        return (self._folder or Path()) / f"{hashlib.sha256(key).hexdigest()[:32]}.npy"
