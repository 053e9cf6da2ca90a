"""Several heads over one frozen encoder, whose scores are averaged: one network to export."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from koala.errors import KoalaError
from koala.inputs.arrays import TRIPLE_INPUTS, TRIPLE_VECTORS, Batch
from koala.network.output import Output
from koala.network.torch.encoder import SharedTripleEncoder
from koala.network.torch.koala import KoalaModel, to_tensors
from koala.network.torch.output import TensorOutput


class HeadEnsemble(nn.Module):
    """Networks of one architecture that read the same frozen layers.

    The layers run once a text; tag scores and log probabilities of places are averaged, as
    `koala.decoding.average_outputs` does. Vectors of triples stand side by side, a part a head.
    """

    def __init__(self, models: Sequence[KoalaModel]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(models)
        encoders = [model.text_encoder for model in models]
        if not all(encoder.is_frozen for encoder in encoders):
            raise KoalaError(
                "Only networks over a frozen encoder can be exported as one. Set "
                "encoder.is_frozen, or join networks when predicting: --model A --model B."
            )
        first = models[0]
        for other in models[1:]:
            if _shapes_of(other) != _shapes_of(first):
                raise KoalaError("The networks differ in their settings; they cannot be joined.")
            other.share_transformer(first)

    @property
    def triple_encoder(self) -> nn.Module | None:
        """Of the first head: None where no head reads triples."""
        encoder: nn.Module | None = self.heads[0].triple_encoder  # type: ignore[assignment]
        return encoder

    def forget(self) -> None:
        """Encode everything anew from now on."""
        for head in self._models:
            head.forget()

    @property
    def _models(self) -> list[KoalaModel]:
        return [head for head in self.heads if isinstance(head, KoalaModel)]

    def forward(self, batch: Batch) -> TensorOutput:
        """Score tags and places of every entity of a batch."""
        return self.score(to_tensors(batch, self._models[0].crf.starts.device))

    def score(self, arrays: dict[str, Tensor]) -> TensorOutput:
        """Score a batch that is in tensors already."""
        vectors = arrays.get(TRIPLE_VECTORS)
        if vectors is None and self.triple_encoder is not None:
            vectors = self.read_triples(*(arrays[name] for name in TRIPLE_INPUTS))
        parts = vectors.chunk(len(self.heads), dim=1) if vectors is not None else None
        layers = self._models[0].text_encoder.read_layers(
            arrays["subwords"], arrays["subwords_mask"]
        )
        outputs = [
            head.score(
                arrays if parts is None else arrays | {TRIPLE_VECTORS: parts[number]}, layers
            )
            for number, head in enumerate(self._models)
        ]
        return average(outputs)

    def predict(self, batch: Batch) -> Output:
        """Score a batch without dropout and gradients, in plain arrays."""
        self.eval()
        with torch.no_grad():
            output: TensorOutput = self(batch)
        return output.to_numpy()

    def read_triples(self, subwords: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, pieces) to (distinct triples, heads · width)."""
        hidden: Tensor | None = None
        vectors = []
        for head in self._models:
            encoder = head.triple_encoder
            if isinstance(encoder, SharedTripleEncoder):
                if hidden is None:
                    hidden = encoder.read_layers(subwords, input_mask)
                vectors.append(encoder.read_hidden(hidden, input_mask, word_mask))
            else:
                vectors.append(head.read_triples(subwords, input_mask, word_mask))
        return torch.cat(vectors, dim=1)

    def potentials(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give the mean of the CRF's transitions, starts and ends."""
        parts = [head.crf.potentials() for head in self._models]
        transitions, starts, ends = (torch.stack(each).mean(0) for each in zip(*parts, strict=True))
        return transitions, starts, ends


def _shapes_of(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def average(outputs: Sequence[TensorOutput]) -> TensorOutput:
    """Average tag scores, CRF scores and log probabilities of places; attention likewise."""
    first = outputs[0]
    lowest = torch.finfo(first.locations.dtype).min
    locations = torch.stack([output.locations.log_softmax(-1) for output in outputs]).mean(0)
    attention = [o.state_attention.exp() for o in outputs if o.state_attention is not None]
    return TensorOutput(
        tags=torch.stack([output.tags for output in outputs]).mean(0),
        locations=locations.masked_fill(~first.candidate_mask.unsqueeze(1), lowest),
        transitions=torch.stack([output.transitions for output in outputs]).mean(0),
        starts=torch.stack([output.starts for output in outputs]).mean(0),
        ends=torch.stack([output.ends for output in outputs]).mean(0),
        step_mask=first.step_mask,
        candidate_mask=first.candidate_mask,
        state_attention=torch.stack(attention).mean(0).log() if attention else None,
        location_attention=None,
        may_be_absent=first.may_be_absent,
    )
