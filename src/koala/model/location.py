"""Location prediction (equations 5–7)."""

import torch
from torch import Tensor, nn

from koala.model.memory import KnowledgeInjector
from koala.model.pooling import SequenceLSTM


class LocationPredictor(nn.Module):
    """Entity and candidate at T+1 positions → injector → BiLSTM → one score a position.

    All candidates of all entities pass at once. Position 0, before step 1, is an all-zero input;
    candidate 0 is `?`, a learned vector present at every step.
    """

    def __init__(self, *, input_width: int, width: int, injector: KnowledgeInjector | None) -> None:
        super().__init__()
        self.injector = injector
        self.unknown = nn.Parameter(torch.randn(input_width) * 0.1)
        read_width = injector.width if injector else 2 * input_width
        self.lstm = SequenceLSTM(input_width=read_width, width=width)
        self.output = nn.Linear(self.lstm.width, 1)

    def forward(
        self,
        entity: Tensor,
        candidates: Tensor,
        candidate_mask: Tensor,
        n_steps: Tensor,
        triples: Tensor,
        triple_mask: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Give place scores (batch, steps + 1, candidates) and log attention.

        Shapes: entity (batch, steps, width), candidates (batch, candidates, steps, width),
        candidate_mask (batch, candidates); log attention (batch, candidates, steps + 1, triples).
        """
        batch, n_candidates, steps, width = candidates.shape
        is_unknown = torch.arange(n_candidates, device=candidates.device) == 0
        candidates = torch.where(is_unknown[None, :, None, None], self.unknown, candidates)
        # (batch, candidates, steps, 2 · width), with a zero position in front
        repeated = entity.unsqueeze(1).expand(batch, n_candidates, steps, width)
        inputs = torch.cat([repeated, candidates], dim=-1)
        inputs = nn.functional.pad(inputs, (0, 0, 1, 0))
        log_attention = None
        if self.injector is not None:
            inputs, log_attention = self.injector(inputs, triples, triple_mask)
        scores = self._decode(inputs, candidate_mask, n_steps)
        return scores.transpose(1, 2), log_attention

    def _decode(self, inputs: Tensor, candidate_mask: Tensor, n_steps: Tensor) -> Tensor:
        """Run the decoder for the real candidates alone: (batch, candidates, steps + 1)."""
        lengths = (n_steps + 1).unsqueeze(1).expand_as(candidate_mask)[candidate_mask]
        # (real candidates, steps + 1)
        real: Tensor = self.output(self.lstm(inputs[candidate_mask], lengths)).squeeze(-1)
        scores = real.new_full(inputs.shape[:3], torch.finfo(real.dtype).min)
        return scores.masked_scatter(candidate_mask.unsqueeze(-1), real)
