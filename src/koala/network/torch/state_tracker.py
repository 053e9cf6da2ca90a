"""State tracking: tag scores of every step (equations 1–3)."""

from torch import Tensor, nn

from koala.grid.states import Tag
from koala.network.torch.knowledge_injector import KnowledgeInjector
from koala.network.torch.pooling import SequenceLSTM, to_rows

_HEADS = 4


class StateTracker(nn.Module):
    """Vectors of the steps → knowledge injector → BiLSTM over steps → tag scores."""

    def __init__(
        self,
        *,
        input_width: int,
        width: int,
        injector: KnowledgeInjector | None,
        has_entity_attention: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.injector = injector
        self.lstm = SequenceLSTM(
            input_width=injector.width if injector else input_width, width=width
        )
        self.others = EntityAttention(self.lstm.width) if has_entity_attention else None
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(self.lstm.width, len(Tag))

    def forward(
        self,
        inputs: Tensor,
        group: Tensor,
        n_steps: Tensor,
        triples: Tensor,
        triple_mask: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Give tag scores (batch, steps, tags) and log attention (batch, steps, triples).

        Shapes: inputs (batch, steps, input_width), group (batch,) the procedure of each entity,
        n_steps (batch,), triples (batch, triples, width), triple_mask (batch, triples).
        """
        batch, steps, _ = inputs.shape
        log_attention = None
        if self.injector is not None:
            rows, log_rows = self.injector(to_rows(inputs), triples, triple_mask)
            inputs = rows.view(batch, steps, -1)
            log_attention = log_rows.view(batch, steps, -1)
        states = self.lstm(inputs, n_steps)
        if self.others is not None:
            states = self.others(states, group)
        return self.output(self.dropout(states)), log_attention


class EntityAttention(nn.Module):
    """In each step, every entity attends to all entities of its procedure.

    An entity that is destroyed often becomes one that is created in the same step.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, _HEADS)
        self.norm = nn.LayerNorm(width)

    def forward(self, states: Tensor, group: Tensor) -> Tensor:
        """Mix (batch, steps, width) across entities with the same group (batch,)."""
        # (batch, batch): True where the entities belong to different procedures
        is_other = group[:, None] != group[None, :]
        # Without batch_first, attention runs along the first axis: the entities of each step.
        seen, _ = self.attention(states, states, states, attn_mask=is_other, need_weights=False)
        mixed: Tensor = self.norm(states + seen)
        return mixed
