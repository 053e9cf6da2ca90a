"""State tracking (equations 1–3)."""

import torch
from torch import Tensor, nn

from koala.model.memory import KnowledgeInjector
from koala.model.pooling import SequenceLSTM
from koala.states import Tag


class StateTracker(nn.Module):
    """Entity and verbs of each step → knowledge injector → BiLSTM over steps → tag scores."""

    def __init__(self, *, input_width: int, width: int, injector: KnowledgeInjector | None) -> None:
        super().__init__()
        self.injector = injector
        read_width = injector.width if injector else 2 * input_width
        self.lstm = SequenceLSTM(input_width=read_width, width=width)
        self.output = nn.Linear(self.lstm.width, len(Tag))

    def forward(
        self,
        entity: Tensor,
        verbs: Tensor,
        is_mentioned: Tensor,
        n_steps: Tensor,
        triples: Tensor,
        triple_mask: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Give tag scores (batch, steps, tags) and log attention (batch, steps, triples).

        Shapes: entity and verbs (batch, steps, width), is_mentioned (batch, steps), n_steps
        (batch,), triples (batch, triples, width).
        """
        batch, steps, _ = entity.shape
        # h_t = [h_e; h_v], zero where the entity is not mentioned (equation 1)
        inputs = torch.cat([entity, verbs], dim=-1) * is_mentioned.unsqueeze(-1)
        log_attention = None
        if self.injector is not None:
            owner = torch.arange(batch, device=entity.device).repeat_interleave(steps)
            rows, log_rows = self.injector(inputs.flatten(0, 1), owner, triples, triple_mask)
            inputs = rows.view(batch, steps, -1)
            log_attention = log_rows.view(batch, steps, -1)
        return self.output(self.lstm(inputs, n_steps)), log_attention
