"""The knowledge injector: attention over triples and an input gate (equations 10–15)."""

import torch
from torch import Tensor, nn

from koala.network.torch.pooling import Rows


class KnowledgeInjector(nn.Module):
    """Adds retrieved knowledge to a decoder's input.

    The input h attends to the triples h_τ of its entity (equations 10–12), and an input gate mixes
    the summary g into it (equations 13–15):

    β = h W_β h_τᵀ, α = softmax β, g = Σ α h_τ; i = σ(W_i [h; g]), f = W_f [h; g],
    h' = i ⊙ f + (1 − i) ⊙ h.

    Without attention g is the mean of the triples; without the gate h' = [h; g]. With the gate,
    h' = h for an entity without triples.
    """

    def __init__(
        self,
        *,
        query_width: int,
        triple_width: int,
        has_attention: bool,
        is_gated: bool,
        gate_bias: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = nn.Linear(query_width, triple_width, bias=False) if has_attention else None
        joint = query_width + triple_width
        self.gate = nn.Linear(joint, query_width) if is_gated else None
        self.mix = nn.Linear(joint, query_width) if is_gated else None
        if self.gate is not None and gate_bias:
            nn.init.constant_(self.gate.bias, gate_bias)
        self.dropout = nn.Dropout(dropout)
        """Dropout of both linear layers of the gate, as in the published code."""
        self.width = query_width if is_gated else joint

    def forward(self, query: Rows, triples: Tensor, triple_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Give the new input h' and log α (−inf at padding).

        Shapes: query (rows, query_width), triples (batch, triples, triple_width), triple_mask
        (batch, triples) → (rows, width), (rows, triples).
        """
        n_triples = triples.shape[1]
        # Rows are multiplied with the triples of all entities: cheaper than copying own triples.
        known = triples.flatten(0, 1)
        numbers = torch.arange(n_triples, device=known.device)
        # (rows, triples): the indices in `known` of each row's own triples
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
        # The softmax of a row without triples would be 0/0: its scores stay 0, its weights are
        # masked afterwards.
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
        # W_g Σ α h_τ = Σ α (W_g h_τ): each triple is projected once, not each row.
        mixed: Tensor = query.project(of_query) + weights @ (known @ of_graph.t()) + bias
        mixed = self.dropout(mixed)
        gate, new = mixed.chunk(2, dim=1)
        gate = gate.sigmoid() * has_triples.unsqueeze(1)
        return gate * new + (1 - gate) * joined
