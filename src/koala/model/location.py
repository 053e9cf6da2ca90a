"""Location prediction (equations 5–7)."""

import torch
from torch import Tensor, nn

from koala.model.memory import KnowledgeInjector
from koala.model.pooling import SharedInputLSTM, look_up


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
        self.lstm = SharedInputLSTM(input_width=read_width, width=width)
        # No bias: it would be the same for all candidates, and softmax does not see it.
        self.output = nn.Linear(self.lstm.width, 1, bias=False)

    def forward(
        self,
        entity: Tensor,
        candidates: Tensor,
        is_named: Tensor,
        candidate_mask: Tensor,
        n_steps: Tensor,
        triples: Tensor,
        triple_mask: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Give place scores (batch, steps + 1, candidates) and log attention.

        Shapes: entity (batch, steps, width), candidates (batch, candidates, steps, width), is_named
        (batch, candidates, steps), candidate_mask (batch, candidates); log attention (batch,
        candidates, steps + 1, triples).
        """
        rows, owner, index = self._build_rows(entity, candidates, is_named)
        log_attention = None
        if self.injector is not None:
            rows, log_rows = self.injector(rows, owner, triples, triple_mask)
            log_attention = look_up(log_rows, index)
        lengths = (n_steps + 1).unsqueeze(1).expand_as(candidate_mask)[candidate_mask]
        states = self.lstm(rows, index[candidate_mask], lengths)
        # (real candidates, steps + 1)
        real: Tensor = self.output(states).squeeze(-1)
        scores = real.new_full(index.shape, torch.finfo(real.dtype).min)
        scores = scores.masked_scatter(candidate_mask.unsqueeze(-1), real)
        return scores.transpose(1, 2), log_attention

    def _build_rows(
        self, entity: Tensor, candidates: Tensor, is_named: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Give the distinct inputs [h_e; h_c] (equation 5), their entities, and who reads which.

        Shapes: (rows, 2 · width), (rows,), (batch, candidates, steps + 1).
        """
        batch, n_candidates, steps, width = candidates.shape
        # `?` is present everywhere.
        is_unknown = torch.arange(n_candidates, device=entity.device) == 0
        is_named = is_named | is_unknown[None, :, None]
        candidates = torch.where(is_unknown[None, :, None, None], self.unknown, candidates)
        # One row an entity and position for all candidates not named there: [h_e; 0]
        base = nn.functional.pad(entity, (0, width, 1, 0)).flatten(0, 1)
        owner_of_base = torch.arange(batch, device=entity.device).repeat_interleave(steps + 1)
        # And one for each candidate that is: [h_e; h_c]
        owner, candidate, step = is_named.nonzero(as_tuple=True)
        entity_rows = look_up(entity.flatten(0, 1), owner * steps + step)
        place = (owner * n_candidates + candidate) * steps + step
        named = torch.cat([entity_rows, look_up(candidates.flatten(0, 2), place)], dim=-1)
        index = torch.arange(len(base), device=entity.device).view(batch, 1, steps + 1)
        index = index.repeat(1, n_candidates, 1)
        index[owner, candidate, step + 1] = len(base) + torch.arange(
            len(named), device=entity.device
        )
        return torch.cat([base, named]), torch.cat([owner_of_base, owner]), index
