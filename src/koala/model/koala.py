"""KoaLa: text encoder, knowledge encoder, state tracker, location predictor, CRF."""

from dataclasses import fields
from pathlib import Path

import torch
from torch import Tensor, nn

from koala.batch import Batch
from koala.decoding import Output
from koala.encoders.weights import find_weights
from koala.errors import FileError
from koala.model.crf import CRF
from koala.model.encoder import TextEncoder, TripleEncoder, load_transformer
from koala.model.location import LocationPredictor
from koala.model.memory import KnowledgeInjector
from koala.model.output import TensorOutput
from koala.model.pooling import look_up, masked_mean
from koala.model.state_tracker import StateTracker
from koala.settings import Settings


class KoalaModel(nn.Module):
    """The paper's model (figure 2). `forward(batch)` needs no gold.

    NCET, the model it is built upon, is these classes without knowledge.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        text_transformer: nn.Module,
        triple_transformer: nn.Module | None,
    ) -> None:
        super().__init__()
        encoder, knowledge = settings.encoder, settings.knowledge
        self.text_encoder = TextEncoder(
            text_transformer,
            token_width=encoder.token_width,
            dropout=encoder.dropout,
            is_frozen=encoder.is_frozen,
            layers=encoder.layers,
        )
        self.triple_encoder: TripleEncoder | None = None
        if triple_transformer is not None:
            self.triple_encoder = TripleEncoder(
                triple_transformer,
                token_width=encoder.token_width,
                dropout=encoder.dropout,
                is_frozen=knowledge.is_frozen,
            )
        width, decoder = self.text_encoder.width, settings.decoder.width
        self.states = StateTracker(
            input_width=width, width=decoder, injector=self._build_injector(settings)
        )
        self.locations = LocationPredictor(
            input_width=width, width=decoder, injector=self._build_injector(settings)
        )
        self.crf = CRF(is_legal=settings.decoder.has_legal_crf)

    def _build_injector(self, settings: Settings) -> KnowledgeInjector | None:
        if self.triple_encoder is None:
            return None
        return KnowledgeInjector(
            query_width=2 * self.text_encoder.width,
            triple_width=self.triple_encoder.width,
            has_attention=settings.knowledge.has_attention,
            is_gated=settings.knowledge.integration == "gate",
        )

    def forward(self, batch: Batch) -> TensorOutput:
        """Score tags and places of every entity of a batch."""
        arrays = _to_tensors(batch, self.crf.starts.device)
        # (procedures, pieces, width), each procedure once
        hidden = self.text_encoder(arrays["pieces"], arrays["pieces_mask"])
        owner = arrays["procedure"]
        # (batch, steps, width)
        entity = masked_mean(arrays["entity_pieces"], look_up(hidden, owner))
        verbs = look_up(masked_mean(arrays["verb_pieces"], hidden), owner)
        # (batch, candidates, steps, width)
        candidates = look_up(masked_mean(arrays["candidate_pieces"], hidden), owner)
        step_mask, candidate_mask = arrays["step_mask"][owner], arrays["candidate_mask"][owner]
        n_steps = step_mask.sum(1)
        triples = self._encode_triples(arrays)
        knowledge = (n_steps, triples, arrays["triple_mask"])
        is_mentioned = arrays["entity_pieces"].any(-1)
        tags, state_attention = self.states(entity, verbs, is_mentioned, *knowledge)
        is_named = arrays["candidate_pieces"].any(-1)[owner]
        places, place_attention = self.locations(
            entity, candidates, is_named, candidate_mask, *knowledge
        )
        transitions, starts, ends = self.crf.potentials()
        return TensorOutput(
            tags=tags,
            places=places,
            transitions=transitions,
            starts=starts,
            ends=ends,
            step_mask=step_mask,
            candidate_mask=candidate_mask,
            state_attention=state_attention,
            place_attention=place_attention,
        )

    def predict(self, batch: Batch) -> Output:
        """Score a batch without dropout and gradients, in plain arrays."""
        self.eval()
        with torch.no_grad():
            output: TensorOutput = self(batch)
        return output.to_numpy()

    def _encode_triples(self, arrays: dict[str, Tensor]) -> Tensor:
        """Give (batch, triples, width); each distinct triple is encoded once."""
        if self.triple_encoder is None:
            return arrays["triples"].new_zeros((*arrays["triples"].shape, 1), dtype=torch.float)
        distinct: Tensor = self.triple_encoder(
            arrays["triple_pieces"], arrays["triple_input_mask"], arrays["triple_pieces_mask"]
        )
        return look_up(distinct, arrays["triples"])


def build_model(settings: Settings) -> KoalaModel:
    """Build a model with public weights, or those of a language-model stage where named."""
    text = load_transformer(_weights_of(settings.encoder.name, settings.encoder.weights))
    triple = None
    if settings.knowledge.is_used:
        knowledge = settings.knowledge
        triple = load_transformer(_weights_of(knowledge.encoder, knowledge.weights))
    return KoalaModel(settings, text_transformer=text, triple_transformer=triple)


def _weights_of(name: str, weights: str | None) -> Path:
    if not weights:
        return find_weights(name)
    if not Path(weights).is_dir():
        raise FileError(weights, "no such folder. Make it with `koala pretrain`, or leave it out.")
    return Path(weights)


def _to_tensors(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    arrays = ((field.name, getattr(batch, field.name)) for field in fields(batch))
    return {name: torch.from_numpy(array).to(device) for name, array in arrays}
