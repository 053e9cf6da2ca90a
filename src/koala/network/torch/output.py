"""The output of the model as tensors; `to_numpy` gives the arrays that decoding reads."""

from dataclasses import dataclass

from torch import Tensor

from koala.network.output import Floats, Output


@dataclass(frozen=True, slots=True)
class TensorOutput:
    """Scores of a batch, with the shapes of `koala.network.output.Output`."""

    tags: Tensor
    locations: Tensor
    transitions: Tensor
    starts: Tensor
    ends: Tensor
    step_mask: Tensor
    """(batch, steps)"""
    candidate_mask: Tensor
    """(batch, candidates)"""
    state_attention: Tensor | None
    """(batch, steps, triples): log attention of the state tracker."""
    location_attention: Tensor | None
    """(batch, candidates, steps + 1, triples): log attention of the location predictor."""
    may_be_absent: bool = False

    def to_numpy(self) -> Output:
        """Convert to numpy arrays; attention is no longer in logs."""
        return Output(
            tags=self.tags.detach().cpu().numpy(),
            locations=self.locations.detach().cpu().numpy(),
            transitions=self.transitions.detach().cpu().numpy(),
            starts=self.starts.detach().cpu().numpy(),
            ends=self.ends.detach().cpu().numpy(),
            n_steps=self.step_mask.sum(1).cpu().numpy(),
            n_candidates=self.candidate_mask.sum(1).cpu().numpy(),
            attention=_exponentiate(self.state_attention),
            location_attention=_exponentiate(self.location_attention),
            may_be_absent=self.may_be_absent,
        )


def _exponentiate(logs: Tensor | None) -> Floats | None:
    return None if logs is None else logs.detach().exp().cpu().numpy()
