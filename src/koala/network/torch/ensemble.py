"""Ensemble of heads over one frozen encoder: their scores are averaged, as one network."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from koala.errors import KoalaError
from koala.inputs.arrays import TRIPLE_INPUTS, TRIPLE_VECTORS, Batch
from koala.network.output import Output
from koala.network.torch.encoder import SharedTripleEncoder
from koala.network.torch.koala import KoalaModel, to_tensors
from koala.network.torch.output import TensorOutput


class HeadEnsemble(nn.Module):
    """Networks of one architecture over the same frozen encoder.

    The encoder runs once per text. Tag scores and log probabilities of locations are averaged, as
    `koala.network.output.average_outputs` does. The triple vectors of all heads are concatenated.
    """

    def __init__(self, models: Sequence[KoalaModel]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(models)
        encoders = [model.text_encoder for model in models]
        if not all(encoder.is_frozen for encoder in encoders):
            raise KoalaError(
                "Only networks with a frozen encoder can be exported as one network. Train with "
                "encoder.is_frozen = true, or average networks at prediction: --model A --model B."
            )
        first = models[0]
        for other in models[1:]:
            if _shapes_of(other) != _shapes_of(first):
                name, ours, theirs = _find_difference(_shapes_of(first), _shapes_of(other))
                raise KoalaError(
                    "The networks differ in their settings and cannot be exported as one: "
                    f"{name} has the shape {ours} in the first and {theirs} in another."
                )
            other.share_transformer(first)

    @property
    def triple_encoder(self) -> nn.Module | None:
        """The triple encoder of the first head; None if the heads read no triples."""
        encoder: nn.Module | None = self.heads[0].triple_encoder  # type: ignore[assignment]
        return encoder

    def clear_cache(self) -> None:
        """Drop the caches of frozen layers: from now on everything is encoded again."""
        for head in self._models:
            head.clear_cache()

    @property
    def _models(self) -> list[KoalaModel]:
        return [head for head in self.heads if isinstance(head, KoalaModel)]

    def forward(self, batch: Batch) -> TensorOutput:
        """Score the tags and locations of every entity of a batch."""
        return self.score(to_tensors(batch, self._models[0].crf.starts.device))

    def score(self, arrays: dict[str, Tensor]) -> TensorOutput:
        """Score a batch given as tensors."""
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
        """Score a batch without dropout and gradients; give numpy arrays."""
        self.eval()
        with torch.no_grad():
            output: TensorOutput = self(batch)
        return output.to_numpy()

    def read_triples(self, subwords: Tensor, input_mask: Tensor, word_mask: Tensor) -> Tensor:
        """Encode (distinct triples, subwords) to (distinct triples, heads · width)."""
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
        """Give the means over the heads of the CRF's transitions, starts and ends."""
        parts = [head.crf.potentials() for head in self._models]
        transitions, starts, ends = (torch.stack(each).mean(0) for each in zip(*parts, strict=True))
        return transitions, starts, ends


def _shapes_of(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def _find_difference(
    ours: Mapping[str, tuple[int, ...]], theirs: Mapping[str, tuple[int, ...]]
) -> tuple[str, object, object]:
    """Give the first parameter whose shape differs, and both shapes; None where it is missing."""
    names = dict.fromkeys((*ours, *theirs))
    name = next(name for name in names if ours.get(name) != theirs.get(name))
    return name, ours.get(name), theirs.get(name)


def average(outputs: Sequence[TensorOutput]) -> TensorOutput:
    """Average tag scores, CRF scores, log probabilities of locations, and attention."""
    first = outputs[0]
    lowest = torch.finfo(first.locations.dtype).min
    locations = torch.stack([output.locations.log_softmax(-1) for output in outputs]).mean(0)
    return TensorOutput(
        tags=torch.stack([output.tags for output in outputs]).mean(0),
        locations=locations.masked_fill(~first.candidate_mask.unsqueeze(1), lowest),
        transitions=torch.stack([output.transitions for output in outputs]).mean(0),
        starts=torch.stack([output.starts for output in outputs]).mean(0),
        ends=torch.stack([output.ends for output in outputs]).mean(0),
        step_mask=first.step_mask,
        candidate_mask=first.candidate_mask,
        state_attention=_average_logs([output.state_attention for output in outputs]),
        location_attention=_average_logs([output.location_attention for output in outputs]),
        may_be_absent=first.may_be_absent,
    )


def _average_logs(logs: Sequence[Tensor | None]) -> Tensor | None:
    """Average attention weights that are given as logs."""
    known = [each.exp() for each in logs if each is not None]
    return torch.stack(known).mean(0).log() if known else None
