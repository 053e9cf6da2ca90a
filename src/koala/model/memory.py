"""Attentive knowledge infusion (equations 10–15)."""

import torch
from torch import Tensor, nn


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

    def forward(self, query: Tensor, triples: Tensor, triple_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Infuse knowledge; give the new input and log α (−inf at padding).

        Shapes: query (batch, …, query_width), triples (batch, triples, triple_width), triple_mask
        (batch, triples) → (batch, …, width), (batch, …, triples).
        """
        batch, *middle, query_width = query.shape
        # (batch, queries, query_width)
        flat = query.reshape(batch, -1, query_width)
        log_weights = self._attend(flat, triples, triple_mask)
        graph = log_weights.exp().nan_to_num(0.0) @ triples
        mixed = self._mix(flat, graph, triple_mask.any(1))
        return (
            mixed.reshape(batch, *middle, self.width),
            log_weights.reshape(batch, *middle, triples.shape[1]),
        )

    def _attend(self, flat: Tensor, triples: Tensor, triple_mask: Tensor) -> Tensor:
        # (batch, queries, triples)
        scores: Tensor
        if self.attention is None:
            scores = torch.zeros(*flat.shape[:2], triples.shape[1], device=flat.device)
        else:
            scores = self.attention(flat) @ triples.transpose(1, 2)
        scores = scores.masked_fill(~triple_mask.unsqueeze(1), float("-inf"))
        # A row without triples would be 0/0: it gets even scores and is left out of the mixture.
        is_empty = ~triple_mask.any(1)
        scores = scores.masked_fill(is_empty[:, None, None], 0.0)
        return scores.log_softmax(-1).masked_fill(~triple_mask.unsqueeze(1), float("-inf"))

    def _mix(self, flat: Tensor, graph: Tensor, has_triples: Tensor) -> Tensor:
        joint = torch.cat([flat, graph], dim=-1)
        if self.gate is None or self.mix is None:
            return joint
        gate: Tensor = self.gate(joint).sigmoid() * has_triples[:, None, None]
        mixed: Tensor = gate * self.mix(joint) + (1 - gate) * flat
        return mixed
