"""Text encoder and knowledge encoder (sections 4.2.1 and 4.3.2 of the paper)."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from koala.document import CONVENTIONS
from koala.errors import KoalaError
from koala.files import replacing
from koala.network.torch.pooling import SequenceLSTM, look_up, masked_mean
from koala.network.torch.precision import Precision, computing_in
from koala.network.torch.transformer import (
    Layers,
    depth_of,
    freeze_layers,
    run_layers,
    width_of,
)

_CACHE_VALUES = 2_000_000_000
"""Values of frozen layers that are cached in memory, in half precision: 4 GB. All layers of MPNet
take 0.7 GB for ProPara, and 3.4 GB with another 1,400 training paragraphs."""


class _Encoder(nn.Module):
    """A transformer followed by a trained BiLSTM and dropout, as in the published model.

    Text encoders give their output before dropout, and the model applies `dropout`; the triple
    encoder applies it itself. Frozen layers encode each distinct row of subwords once in a run.
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
        """Precision of the trained layers in training; frozen layers and scoring use float32."""
        self.n_frozen = depth_of(transformer) - 1 if is_frozen else n_frozen_layers
        self.is_frozen = self.n_frozen == depth_of(transformer) - 1
        freeze_layers(transformer, self.n_frozen)
        self.frozen: FrozenLayerCache | None = None
        if self.n_frozen:
            self.frozen = FrozenLayerCache(transformer, layers, n_layers=self.n_frozen)
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
        """Run the transformer and the BiLSTM: (rows, subwords, width)."""
        return self.read_mixed(self.read_layers(subwords, mask), mask, convention)

    def read_layers(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """Run the transformer: (rows, layers, subwords, hidden), all layers or only the last."""
        if self.frozen is None:
            return self.run_layers(subwords, mask)
        layers = self.frozen.get(subwords, mask)
        upper = self.run_layers(layers[:, -1], mask, start=self.n_frozen)
        return upper if self.mixture is None else torch.cat([layers[:, :-1], upper], dim=1)

    def read_mixed(self, layers: Tensor, mask: Tensor, convention: Tensor | None = None) -> Tensor:
        """Mix the layers and run the BiLSTM: (rows, subwords, width)."""
        return self.read_tokens(self.mix(layers), mask, convention)

    def mix(self, layers: Tensor) -> Tensor:
        """Mix the layers (rows, layers, subwords, hidden) or take the last one, then project."""
        hidden = layers[:, 0] if self.mixture is None else self.mixture(layers)
        if self.projection is not None:
            hidden = self.projection(self.input_dropout(hidden))
        return hidden

    def run_layers(
        self, inputs: Tensor, mask: Tensor, *, start: int | None = None, stop: int | None = None
    ) -> Tensor:
        """Run some layers of the transformer, in training in this encoder's precision."""
        with computing_in(self.precision if self.training else "float32", inputs.device):
            layers = run_layers(self.transformer, inputs, mask, self.layers, start=start, stop=stop)
        return layers.float()

    def read_tokens(self, hidden: Tensor, mask: Tensor, convention: Tensor | None = None) -> Tensor:
        """Add the annotation convention's vector and run the BiLSTM, if the encoder has them.

        Shapes: hidden (rows, subwords, hidden), convention (rows,) → (rows, subwords, width).
        """
        if self.convention is not None and convention is not None:
            hidden = hidden + self.convention(convention).unsqueeze(1)
        if self.lstm is None:
            return hidden
        if self.projection is None:
            hidden = self.input_dropout(hidden)
        states: Tensor = self.lstm(hidden, mask.sum(1))
        return states


class TextEncoder(_Encoder):
    """[CLS] X_1 … X_T [SEP] → a vector per subword; each procedure is encoded once."""

    def forward(self, subwords: Tensor, mask: Tensor, convention: Tensor) -> Tensor:
        """Encode (procedures, subwords) to (procedures, subwords, width), before dropout.

        Shapes: convention (procedures,).
        """
        return self.read(subwords, mask, convention)


class EntityEncoder(_Encoder):
    """Encodes a text for each entity: its mentions are marked before the upper layers.

    The lower layers run once per procedure and are shared by its entities (once per entity if the
    entity's name precedes the text); frozen layers run once in a run.
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
            raise KoalaError(
                "encoder.projected_width needs all layers to be shared by the entities: set "
                f"encoder.n_shared_layers to {depth_of(transformer) - 1} (it is "
                f"{n_shared_layers}), or encoder.projected_width to 0."
            )
        if layers == "mixture" and n_shared_layers != depth_of(transformer) - 1:
            raise KoalaError(
                'encoder.layers = "mixture" mixes all layers, so all must be shared: set '
                f"encoder.n_shared_layers to {depth_of(transformer) - 1} (it is {n_shared_layers})."
            )
        if n_frozen_layers > n_shared_layers:
            raise KoalaError(
                "Mentions are marked above the shared layers, so frozen layers must be shared: "
                f"set encoder.n_frozen_layers ({n_frozen_layers}) to at most "
                f"encoder.n_shared_layers ({n_shared_layers})."
            )
        self.marker: nn.Parameter | None = None
        if has_marks:
            width = projected_width or width_of(transformer)
            self.marker = nn.Parameter(torch.randn(width) * 0.02)

    def forward(
        self, subwords: Tensor, mask: Tensor, convention: Tensor, owner: Tensor, mentions: Tensor
    ) -> Tensor:
        """Encode (procedures, subwords) to (batch, subwords, width), before dropout.

        Shapes: convention (procedures,), owner (batch,) the procedure of each entity, mentions
        (batch, subwords).
        """
        layers = self.read_layers(subwords, mask)
        return self.read_entities(layers, mask, convention, owner, mentions)

    def read_layers(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """Run the layers that all entities share: (procedures, layers, subwords, hidden)."""
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
        """Mark mentions and run everything above the shared layers: (batch, subwords, width)."""
        hidden = look_up(self.mix(layers), owner)
        if self.marker is not None:
            hidden = hidden + mentions.unsqueeze(-1) * self.marker
        own_mask = mask[owner]
        if self.n_shared < depth_of(self.transformer) - 1:
            hidden = self.run_layers(hidden, own_mask, start=self.n_shared)[:, -1]
        return self.read_tokens(hidden, own_mask, convention[owner])


class TripleEncoder(_Encoder):
    """[CLS] head [SEP] relation [SEP] tail [SEP] → one vector, the mean over its words (eq. 9)."""

    state_dropout: nn.Dropout = nn.Dropout(0.0)
    """Dropout of the BiLSTM's output, before the mean; the published code drops out both."""

    def forward(self, subwords: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, subwords) to (distinct triples, width)."""
        states = self.state_dropout(self.read(subwords, input_mask))
        means: Tensor = self.dropout(masked_mean(word_mask.unsqueeze(1), states).squeeze(1))
        return means


class SharedTripleEncoder(nn.Module):
    """Encodes triples with the frozen lower layers of the text encoder and a separate BiLSTM."""

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
                'knowledge.encoder = "shared" uses the frozen layers of the text encoder: set '
                "encoder.n_frozen_layers to 1 or more (it is 0)."
            )
        # In a tuple, so that torch does not register the text encoder's layers as part of this.
        self._lower = (transformer, n_layers)
        self.frozen: FrozenLayerCache | None = FrozenLayerCache(transformer, n_layers=n_layers)
        self.lstm = SequenceLSTM(input_width=width_of(transformer), width=token_width)
        self.input_dropout = nn.Dropout(input_dropout)
        self.dropout = nn.Dropout(dropout)
        self.width = self.lstm.width

    def forward(self, subwords: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, subwords) to (distinct triples, width)."""
        return self.read_hidden(self.read_layers(subwords, input_mask), input_mask, word_mask)

    def share_layers(self, transformer: nn.Module) -> None:
        """Use the layers of another transformer that has the same weights."""
        self._lower = (transformer, self._lower[1])
        self.frozen = None

    def read_layers(self, subwords: Tensor, input_mask: Tensor) -> Tensor:
        """Run the shared lower layers: (distinct triples, subwords, hidden)."""
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
    """γ Σ s_j h_j over all layers j, s = softmax w, as in ELMo (Peters et al. 2018)."""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(n_layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """Mix (rows, layers, subwords, hidden) to (rows, subwords, hidden)."""
        shares = self.weights.softmax(0)
        return self.scale * torch.einsum("rlph,l->rph", layers, shares)


class FrozenLayerCache:
    """Outputs of frozen layers, computed once for each row of subwords and without dropout."""

    def __init__(self, transformer: nn.Module, layers: Layers = "last", *, n_layers: int) -> None:
        self._transformer = transformer
        self._layers: Layers = layers
        self._n_layers = n_layers
        self._cache: dict[bytes, Tensor] = {}
        self._n_values = 0
        self._folder: Path | None = None

    def cache_in(self, folder: Path) -> None:
        """Cache rows in a folder, where other runs with the same encoder find them.

        A row of MPNet takes about two megabytes. Several encoders may share a folder.
        """
        digest = hashlib.sha256(f"{self._layers} {self._n_layers}".encode())
        for value in self._transformer.state_dict().values():
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        self._folder = folder / digest.hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """Give the layers' outputs (rows, layers, subwords, hidden); zero at padding."""
        lengths = mask.sum(1).tolist()
        keys = [row[:n].numpy().tobytes() for row, n in zip(subwords.cpu(), lengths, strict=True)]
        if self._n_values > _CACHE_VALUES:
            self._cache.clear()
            self._n_values = 0
        self._open_files(keys)
        new = list({key: i for i, key in enumerate(keys) if key not in self._cache}.values())
        if new:
            self._encode(subwords[new], mask[new], [keys[i] for i in new])
        rows = [self._cache[key] for key in keys]
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
            # Half precision halves the memory; every epoch reads the same rounded values.
            self._cache[key] = row[:, :length].half()
            if self._folder is None:
                self._n_values += self._cache[key].numel()
            else:
                self._write(key, self._cache[key])

    def _open_files(self, keys: Sequence[bytes]) -> None:
        """Open the rows that the folder holds; they are memory-mapped and take no memory."""
        for key in keys if self._folder else ():
            path = self._path_of(key)
            if key not in self._cache and path.is_file():
                self._cache[key] = torch.from_numpy(np.load(path, mmap_mode="r+"))

    def _write(self, key: bytes, row: Tensor) -> None:
        path = self._path_of(key)
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.save(file, row.cpu().numpy())
        self._cache[key] = torch.from_numpy(np.load(path, mmap_mode="r+"))

    def _path_of(self, key: bytes) -> Path:
        return (self._folder or Path()) / f"{hashlib.sha256(key).hexdigest()[:32]}.npy"
