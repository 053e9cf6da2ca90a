"""Text encoder and knowledge encoder (sections 4.2.1 and 4.3.2 of the paper)."""

from typing import Self

import torch
from torch import Tensor, nn

from koala.document import CONVENTIONS
from koala.errors import KoalaError
from koala.network.torch.layers import FrozenLayerCache, LayerMixture
from koala.network.torch.pooling import SequenceLSTM, look_up, masked_mean
from koala.network.torch.precision import Precision, computing_in
from koala.network.torch.transformer import (
    Layers,
    depth_of,
    freeze_layers,
    run_layers,
    width_of,
)


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

    def freeze(self) -> None:
        """Train no layer of the transformer any more; cache the outputs of those that can be."""
        self.is_frozen = True
        self.transformer.requires_grad_(False)
        self.n_frozen = self._n_cacheable
        self.frozen = None
        if self.n_frozen:
            self.frozen = FrozenLayerCache(self.transformer, self.layers, n_layers=self.n_frozen)
        self.train(self.training)

    @property
    def _n_cacheable(self) -> int:
        """Number of lower layers whose outputs depend on nothing but the subwords."""
        return depth_of(self.transformer) - 1

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on or off; a frozen transformer has none."""
        super().train(mode)
        if self.is_frozen:
            self.transformer.eval()
        return self

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

    def freeze(self) -> None:
        """Train no layer of the transformer any more, nor what is below its upper layers."""
        super().freeze()
        if self.marker is not None and self.n_shared < depth_of(self.transformer) - 1:
            self.marker.requires_grad_(False)

    @property
    def _n_cacheable(self) -> int:
        return self.n_shared

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

    def freeze(self) -> None:
        """Cache the outputs of the layers; they are never trained through triples."""
        transformer, n_layers = self._lower
        self.frozen = FrozenLayerCache(transformer, n_layers=n_layers)

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
