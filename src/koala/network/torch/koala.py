"""The whole model: text encoder, knowledge encoder, state tracker, location predictor, CRF."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from koala.encoders.weights import CHECKPOINTS, find_weights
from koala.errors import FileError, KoalaError
from koala.inputs.arrays import TRIPLE_INPUTS, TRIPLE_VECTORS, Batch
from koala.network.output import Output
from koala.network.torch.crf import CRF
from koala.network.torch.decoder_inputs import Reading, join_mentions, join_steps, read_text
from koala.network.torch.encoder import (
    EntityEncoder,
    SharedTripleEncoder,
    TextEncoder,
    TripleEncoder,
)
from koala.network.torch.knowledge_injector import KnowledgeInjector
from koala.network.torch.location import LocationPredictor, LocationScorer
from koala.network.torch.output import TensorOutput
from koala.network.torch.pooling import look_up
from koala.network.torch.precision import Precision
from koala.network.torch.state_tracker import StateTracker
from koala.network.torch.transformer import load_transformer
from koala.settings import SHARED, EncoderSettings, KnowledgeSettings, Settings

_TRIPLE_WIDTH = 64
"""Width of each direction of the triple BiLSTM if triples share the text encoder's layers."""


class KoalaModel(nn.Module):
    """KoaLa, the paper's model (figure 2). Without knowledge it is NCET, which it extends."""

    def __init__(
        self,
        settings: Settings,
        *,
        text_transformer: nn.Module,
        triple_transformer: nn.Module | None,
    ) -> None:
        super().__init__()
        encoder, knowledge, decoder = settings.encoder, settings.knowledge, settings.decoder
        precision = settings.training.precision
        self.text_encoder = _build_text_encoder(encoder, text_transformer, precision)
        self.triple_encoder: TripleEncoder | SharedTripleEncoder | None = None
        if knowledge.is_used and knowledge.encoder == SHARED:
            self.triple_encoder = SharedTripleEncoder(
                text_transformer,
                n_layers=_count_triple_layers(settings),
                token_width=_TRIPLE_WIDTH,
                dropout=encoder.dropout,
                input_dropout=encoder.input_dropout,
            )
        elif triple_transformer is not None:
            self.triple_encoder = TripleEncoder(
                triple_transformer,
                token_width=encoder.token_width,
                dropout=encoder.dropout,
                is_frozen=knowledge.is_frozen,
                input_dropout=encoder.input_dropout,
                precision=precision,
            )
            self.triple_encoder.state_dropout = nn.Dropout(knowledge.dropout)
        self.has_attention = self.triple_encoder is not None and knowledge.has_attention
        width = self.text_encoder.width
        self.reads_steps = decoder.reads != "mentions"
        self.reads_names = encoder.has_list
        if self.reads_names and not self.reads_steps:
            raise KoalaError(
                'encoder.entity = "listed" needs decoder.reads = "steps" (it is '
                f'"{decoder.reads}").'
            )
        input_width = 3 * width + 1 if self.reads_steps else 2 * width
        input_width += width if self.reads_names else 0
        self.mixer: nn.Module | None = None
        if decoder.step_width:
            if not self.reads_steps or decoder.locations != "scorer":
                raise KoalaError(
                    'decoder.step_width needs decoder.reads = "steps" and decoder.locations = '
                    f'"scorer" (they are "{decoder.reads}" and "{decoder.locations}").'
                )
            self.mixer = nn.Sequential(
                nn.Linear(input_width, decoder.step_width), nn.ReLU(), nn.Dropout(encoder.dropout)
            )
            input_width = decoder.step_width
        self.states = StateTracker(
            input_width=input_width,
            width=decoder.width,
            injector=self._build_injector(knowledge, input_width),
            has_entity_attention=decoder.has_entity_attention,
            dropout=decoder.dropout,
        )
        self.locations: LocationPredictor | LocationScorer
        if decoder.locations == "sequences":
            self.locations = LocationPredictor(
                input_width=width,
                width=decoder.width,
                injector=self._build_injector(knowledge, 2 * width),
                dropout=decoder.dropout,
            )
        else:
            self.locations = LocationScorer(
                input_width=input_width,
                location_width=width,
                width=decoder.width,
                dropout=encoder.dropout,
                injector=self._build_injector(knowledge, input_width),
                n_known=len(settings.text.known_locations.split()),
                state_dropout=decoder.dropout,
            )
        self.may_be_absent = settings.may_be_absent
        self.crf = CRF(is_legal=decoder.has_legal_crf, may_be_absent=self.may_be_absent)

    def _build_injector(
        self, settings: KnowledgeSettings, query_width: int
    ) -> KnowledgeInjector | None:
        if self.triple_encoder is None:
            return None
        return KnowledgeInjector(
            query_width=query_width,
            triple_width=self.triple_encoder.width,
            has_attention=settings.has_attention,
            is_gated=settings.integration == "gate",
            gate_bias=settings.gate_bias,
            dropout=settings.dropout,
        )

    def forward(self, batch: Batch) -> TensorOutput:
        """Score the tags and locations of every entity of a batch; gold is not read."""
        return self.score(to_tensors(batch, self.crf.starts.device))

    def score(self, arrays: dict[str, Tensor], layers: Tensor | None = None) -> TensorOutput:
        """Score a batch given as tensors; `layers` are the text encoder's, if already computed."""
        hidden = self._encode_text(arrays, layers)
        reading = self._read(arrays, self.text_encoder.dropout(hidden))
        return self._decode(arrays, reading, self._encode_triples(arrays))

    def _decode(self, arrays: dict[str, Tensor], reading: Reading, triples: Tensor) -> TensorOutput:
        owner = arrays["procedure"]
        step_mask, candidate_mask = arrays["step_mask"][owner], arrays["candidate_mask"][owner]
        knowledge = (step_mask.sum(1), triples, arrays["triple_mask"])
        # (batch, steps, input_width)
        inputs = join_steps(reading) if self.reads_steps else join_mentions(reading)
        if self.mixer is not None:
            inputs = self.mixer(inputs)
        tags, state_attention = self.states(inputs, arrays["group"], *knowledge)
        is_scorer = isinstance(self.locations, LocationScorer)
        locations, location_attention = self.locations(
            inputs if is_scorer else reading.entity,
            reading.candidates,
            reading.is_named,
            reading.row,
            candidate_mask,
            *knowledge,
            *((reading.numbers,) if is_scorer else ()),
        )
        transitions, starts, ends = self.crf.potentials()
        return TensorOutput(
            tags=tags,
            locations=locations,
            transitions=transitions,
            starts=starts,
            ends=ends,
            step_mask=step_mask,
            candidate_mask=candidate_mask,
            state_attention=state_attention,
            location_attention=location_attention,
            may_be_absent=self.may_be_absent,
        )

    def potentials(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give the CRF's transitions, starts and ends."""
        return self.crf.potentials()

    def share_transformer(self, other: "KoalaModel") -> None:
        """Use the transformer of another network, which must have the same weights."""
        self.text_encoder.transformer = other.text_encoder.transformer
        self.clear_cache()
        if isinstance(self.triple_encoder, SharedTripleEncoder):
            self.triple_encoder.share_layers(other.text_encoder.transformer)

    def clear_cache(self) -> None:
        """Drop the caches of frozen layers: from now on everything is encoded again."""
        self.text_encoder.frozen = None
        if self.triple_encoder is not None:
            self.triple_encoder.frozen = None

    def _encode_text(self, arrays: dict[str, Tensor], layers: Tensor | None = None) -> Tensor:
        """Encode each procedure once, or with an EntityEncoder its upper layers for each entity.

        `layers`, if given, are the outputs of `read_layers`, which then does not run again.
        """
        mask, convention = arrays["subwords_mask"], arrays["convention"]
        if layers is None:
            layers = self.text_encoder.read_layers(arrays["subwords"], mask)
        if isinstance(self.text_encoder, EntityEncoder):
            mentions = arrays["entity_subwords"].any(1)
            return self.text_encoder.read_entities(
                layers, mask, convention, arrays["procedure"], mentions
            )
        return self.text_encoder.read_mixed(layers, mask, convention)

    def _read(self, arrays: dict[str, Tensor], hidden: Tensor) -> Reading:
        return read_text(
            arrays,
            hidden,
            is_own=isinstance(self.text_encoder, EntityEncoder),
            has_steps=self.reads_steps,
            has_names=self.reads_names,
        )

    def predict(self, batch: Batch) -> Output:
        """Score a batch without dropout and gradients; give numpy arrays."""
        self.eval()
        with torch.no_grad():
            output: TensorOutput = self(batch)
        return output.to_numpy()

    def _encode_triples(self, arrays: dict[str, Tensor]) -> Tensor:
        """Give the vectors of each entity's triples: (batch, triples, width).

        Each distinct triple is encoded once, unless the batch brings the vectors already.
        """
        if self.triple_encoder is None:
            return arrays["triples"].new_zeros((*arrays["triples"].shape, 1), dtype=torch.float)
        distinct = arrays.get(TRIPLE_VECTORS)
        if distinct is None:
            distinct = self.read_triples(*(arrays[name] for name in TRIPLE_INPUTS))
        return look_up(distinct, arrays["triples"])

    def read_triples(self, subwords: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, subwords) to (distinct triples, width)."""
        if self.triple_encoder is None:
            raise ValueError("this model has no triple encoder")
        distinct: Tensor = self.triple_encoder(subwords, input_mask, word_mask)
        return distinct


def _build_text_encoder(
    settings: EncoderSettings, transformer: nn.Module, precision: Precision
) -> TextEncoder | EntityEncoder:
    is_plain = settings.entity == "prefix" and not settings.n_shared_layers
    if settings.entity in ("none", "listed") or is_plain:
        return TextEncoder(
            transformer,
            token_width=settings.token_width,
            dropout=settings.dropout,
            input_dropout=settings.input_dropout,
            is_frozen=settings.is_frozen,
            n_frozen_layers=settings.n_frozen_layers,
            layers=settings.layers,
            precision=precision,
            has_convention=settings.has_convention,
            projected_width=settings.projected_width,
        )
    config: Any = transformer.config
    n_layers = int(config.num_hidden_layers)
    return EntityEncoder(
        transformer,
        token_width=settings.token_width,
        dropout=settings.dropout,
        input_dropout=settings.input_dropout,
        # If all layers are frozen, only the BiLSTM above them sees the marked mentions.
        n_shared_layers=n_layers if settings.is_frozen else settings.n_shared_layers,
        n_frozen_layers=n_layers if settings.is_frozen else settings.n_frozen_layers,
        has_marks=settings.has_marks,
        layers=settings.layers,
        precision=precision,
        has_convention=settings.has_convention,
        projected_width=settings.projected_width,
    )


def _count_triple_layers(settings: Settings) -> int:
    """Count the layers of the text encoder that encode triples; these must be frozen."""
    n_layers, n_frozen = settings.knowledge.n_encoder_layers, settings.encoder.n_frozen_layers
    if n_layers > n_frozen:
        raise KoalaError(
            "Triples are encoded by frozen layers: set knowledge.n_encoder_layers "
            f"({n_layers}) to at most encoder.n_frozen_layers ({n_frozen})."
        )
    return n_layers or n_frozen


def build_model(settings: Settings) -> KoalaModel:
    """Build a model; its encoders start from public weights or from a language-model stage."""
    text = load_transformer(_weights_of(settings.encoder.name, settings.encoder.weights))
    triple = None
    knowledge = settings.knowledge
    if knowledge.is_used and knowledge.encoder != SHARED:
        triple = load_transformer(_weights_of(knowledge.encoder, knowledge.weights))
    return KoalaModel(settings, text_transformer=text, triple_transformer=triple)


def _weights_of(name: str, weights: str | None) -> Path:
    if not weights:
        return find_weights(name)
    if not Path(weights).is_dir():
        raise FileError(
            weights,
            "no such folder of pretrained weights. Make it with `koala pretrain`, or leave out "
            "`weights` to start from the public ones.",
        )
    if Path(weights, CHECKPOINTS).is_dir():
        raise FileError(
            weights,
            "this pretraining stage is not finished. Finish it with `koala pretrain … --resume`.",
        )
    return Path(weights)


def to_tensors(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    """Convert the arrays of a batch to tensors on a device."""
    arrays = ((field.name, getattr(batch, field.name)) for field in fields(batch))
    return {name: torch.from_numpy(array).to(device) for name, array in arrays}
