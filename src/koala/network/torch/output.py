"""What a network says, in torch; `to_numpy` gives what decoding reads."""

from dataclasses import dataclass

from torch import Tensor

from koala.network.output import Output


@dataclass(frozen=True, slots=True)
class TensorOutput:
    """Scores of a batch; shapes as in `koala.decoding.Output`."""

    tags: Tensor
    locations: Tensor
    transitions: Tensor
    starts: Tensor
    ends: Tensor
    step_mask: Tensor
    candidate_mask: Tensor
    state_attention: Tensor | None
    """Log attention (batch, steps, triples)."""
    location_attention: Tensor | None
    """Log attention (batch, candidates, steps + 1, triples)."""
    may_be_absent: bool = False

    def to_numpy(self) -> Output:
        """Give plain arrays."""
        attention = self.state_attention
        return Output(
            tags=self.tags.detach().cpu().numpy(),
            locations=self.locations.detach().cpu().numpy(),
            transitions=self.transitions.detach().cpu().numpy(),
            starts=self.starts.detach().cpu().numpy(),
            ends=self.ends.detach().cpu().numpy(),
            n_steps=self.step_mask.sum(1).cpu().numpy(),
            n_candidates=self.candidate_mask.sum(1).cpu().numpy(),
            attention=None if attention is None else attention.detach().exp().cpu().numpy(),
            may_be_absent=self.may_be_absent,
        )
