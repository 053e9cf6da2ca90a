"""Attentive knowledge infusion (equations 10–15)."""

import torch
from torch import Tensor, nn

from koala.model.pooling import look_up


class KnowledgeInjector(nn.Module):
    """Reads the triples with the decoder's input as query and mixes both with an input gate.

    β = h W_β h_τᵀ, α = softmax β, g = Σ α h_τ; i = σ(W_i [h; g]), f = W_f [h; g],
    h' = i ⊙ f + (1 − i) ⊙ h. Without attention g is the plain mean of the triples; with
    concatenation h' = [h; g] in place of the gate. Where there is no triple, h' = h.
    """

    def __init__(
        self, *, query_width: int, triple_width: int, has_attention: bool, is_gated: bool
    ) -> None:
        super().__init__()
        self.attention = nn.Linear(query_width, triple_width, bias=False) if has_attention else None
        joint = query_width + triple_width
        self.gate = nn.Linear(joint, query_width) if is_gated else None
        self.mix = nn.Linear(joint, query_width) if is_gated else None
        self.width = query_width if is_gated else joint

    def forward(
        self, query: Tensor, owner: Tensor, triples: Tensor, triple_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Infuse knowledge; give the new input and log α (−inf at padding).

        Shapes: query (rows, query_width), owner (rows,) the entity of each row, triples (batch,
        triples, triple_width), triple_mask (batch, triples) → (rows, width), (rows, triples).
        """
        # (rows, triples, triple_width), (rows, triples)
        own_triples, own_mask = look_up(triples, owner), triple_mask[owner]
        log_weights = self._attend(query, own_triples, own_mask)
        # (rows, triple_width)
        graph = (log_weights.exp().unsqueeze(1) @ own_triples).squeeze(1)
        return self._mix(query, graph, own_mask.any(1)), log_weights

    def _attend(self, query: Tensor, triples: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor
        if self.attention is None:
            scores = torch.zeros(mask.shape, dtype=query.dtype, device=query.device)
        else:
            scores = (triples @ self.attention(query).unsqueeze(2)).squeeze(2)
        # A row without triples would be 0/0: it gets even scores and is left out of the mixture.
        is_empty = ~mask.any(1, keepdim=True)
        scores = scores.masked_fill(~(mask | is_empty), float("-inf"))
        return scores.log_softmax(-1).masked_fill(~mask, float("-inf"))

    def _mix(self, query: Tensor, graph: Tensor, has_triples: Tensor) -> Tensor:
        joint = torch.cat([query, graph], dim=-1)
        if self.gate is None or self.mix is None:
            return joint
        gate: Tensor = self.gate(joint).sigmoid() * has_triples.unsqueeze(1)
        mixed: Tensor = gate * self.mix(joint) + (1 - gate) * query
        return mixed
