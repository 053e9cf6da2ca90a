"""Attentive knowledge infusion (equations 10–15)."""

import torch
from torch import Tensor, nn

from koala.network.torch.pooling import Rows


class KnowledgeInjector(nn.Module):
    """Reads the triples with the decoder's input as query and mixes both with an input gate.

    β = h W_β h_τᵀ, α = softmax β, g = Σ α h_τ; i = σ(W_i [h; g]), f = W_f [h; g],
    h' = i ⊙ f + (1 − i) ⊙ h. Without attention g is the plain mean of the triples; with
    concatenation h' = [h; g] in place of the gate. Where there is no triple, h' = h.
    """

    def __init__(
        self,
        *,
        query_width: int,
        triple_width: int,
        has_attention: bool,
        is_gated: bool,
        gate_bias: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = nn.Linear(query_width, triple_width, bias=False) if has_attention else None
        joint = query_width + triple_width
        self.gate = nn.Linear(joint, query_width) if is_gated else None
        self.mix = nn.Linear(joint, query_width) if is_gated else None
        if self.gate is not None and gate_bias:
            nn.init.constant_(self.gate.bias, gate_bias)
        self.width = query_width if is_gated else joint

    def forward(self, query: Rows, triples: Tensor, triple_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Infuse knowledge; give the new input and log α (−inf at padding).

        Shapes: query (rows, query_width), triples (batch, triples, triple_width), triple_mask
        (batch, triples) → (rows, width), (rows, triples).
        """
        n_triples = triples.shape[1]
        # Every row meets the triples of all entities: products are cheaper than copies of triples.
        known = triples.flatten(0, 1)
        numbers = torch.arange(n_triples, device=known.device)
        # (rows, triples): which of all are a row's own
        own, own_mask = query.owner.unsqueeze(1) * n_triples + numbers, triple_mask[query.owner]
        log_weights = self._attend(query, known, own, own_mask)
        weights = log_weights.new_zeros(own.shape[0], known.shape[0])
        weights = weights.scatter(1, own, log_weights.exp())
        return self._mix(query, known, weights, own_mask.any(1)), log_weights

    def _attend(self, query: Rows, known: Tensor, own: Tensor, mask: Tensor) -> Tensor:
        scores: Tensor
        if self.attention is None:
            scores = known.new_zeros(mask.shape)
        else:
            scores = query.project(known @ self.attention.weight).gather(1, own)
        # A row without triples would be 0/0: it gets even scores and is left out of the mixture.
        is_empty = ~mask.any(1, keepdim=True)
        scores = scores.masked_fill(~(mask | is_empty), float("-inf"))
        return scores.log_softmax(-1).masked_fill(~mask, float("-inf"))

    def _mix(self, query: Rows, known: Tensor, weights: Tensor, has_triples: Tensor) -> Tensor:
        joined = query.join()
        if self.gate is None or self.mix is None:
            return torch.cat([joined, weights @ known], dim=-1)
        weight = torch.cat([self.gate.weight, self.mix.weight])
        bias = torch.cat([self.gate.bias, self.mix.bias])
        of_query, of_graph = torch.split(weight, [joined.shape[1], known.shape[1]], dim=1)
        # W_g Σ α h_τ = Σ α (W_g h_τ): the triples are projected, each once.
        mixed = query.project(of_query) + weights @ (known @ of_graph.t()) + bias
        gate, new = mixed.chunk(2, dim=1)
        gate = gate.sigmoid() * has_triples.unsqueeze(1)
        return gate * new + (1 - gate) * joined
