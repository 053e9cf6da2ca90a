"""Location prediction: the paper's predictor (equations 5–7) and a faster scorer."""

import torch
from torch import Tensor, nn

from koala.network.torch.knowledge_injector import KnowledgeInjector
from koala.network.torch.pooling import Rows, SequenceLSTM, SharedInputLSTM, look_up, to_rows


class LocationPredictor(nn.Module):
    """[entity; candidate] at T+1 positions → injector → BiLSTM → one score per position.

    All candidates of all entities are scored at once. Position 0, before step 1, has an all-zero
    input. Candidate 0 is `?`, a learned vector that counts as named in every step.
    """

    def __init__(
        self,
        *,
        input_width: int,
        width: int,
        injector: KnowledgeInjector | None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.injector = injector
        self.unknown = nn.Parameter(torch.randn(input_width) * 0.1)
        read_width = injector.width if injector else 2 * input_width
        self.lstm = SharedInputLSTM(input_width=read_width, width=width)
        self.dropout = nn.Dropout(dropout)
        # No bias: it would be the same for all candidates, so softmax would cancel it.
        self.output = nn.Linear(self.lstm.width, 1, bias=False)

    def forward(
        self,
        entity: Tensor,
        candidates: Tensor,
        is_named: Tensor,
        row: Tensor,
        candidate_mask: Tensor,
        n_steps: Tensor,
        triples: Tensor,
        triple_mask: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Give location scores (batch, steps + 1, candidates) and log attention.

        Shapes: entity (batch, steps, width), candidates (rows, candidates, steps, width), is_named
        (rows, candidates, steps), row (batch,) the row of candidates of each entity,
        candidate_mask (batch, candidates); log attention (batch, candidates, steps + 1, triples).
        """
        rows: Rows | Tensor
        rows, index = self._build_rows(entity, candidates, is_named, row)
        log_attention = None
        if self.injector is not None:
            rows, log_rows = self.injector(rows, triples, triple_mask)
            log_attention = look_up(log_rows, index)
        lengths = (n_steps + 1).unsqueeze(1).expand_as(candidate_mask)[candidate_mask]
        states = self.lstm(rows, index[candidate_mask], lengths)
        # (real candidates, steps + 1)
        real: Tensor = self.output(self.dropout(states)).squeeze(-1)
        scores = real.new_full(index.shape, torch.finfo(real.dtype).min)
        scores = scores.masked_scatter(candidate_mask.unsqueeze(-1), real)
        return scores.transpose(1, 2), log_attention

    def _build_rows(
        self, entity: Tensor, candidates: Tensor, is_named: Tensor, row: Tensor
    ) -> tuple[Rows, Tensor]:
        """Give the distinct inputs [h_e; h_c] (equation 5), and which of them is read where.

        The second is an index of the inputs: (batch, candidates, steps + 1).
        """
        batch, steps, width = entity.shape
        n_candidates = candidates.shape[1]
        # Distinct values of h_c: 0 zero, for a candidate not named in the step; 1 `?`, in every
        # step; then one for each named candidate and step.
        is_named = is_named & (torch.arange(n_candidates, device=row.device) > 0)[:, None]
        nothing = entity.new_zeros(1, width)
        locations = torch.cat([nothing, self.unknown.unsqueeze(0), candidates[is_named]])
        numbers = (is_named.flatten().long().cumsum(0).view(is_named.shape) + 1) * is_named
        numbers[:, 0] = 1
        own = numbers[row]
        # One row per entity and position for all candidates not named there, [h_e; 0], …
        positions = nn.functional.pad(entity, (0, 0, 1, 0)).flatten(0, 1)
        base = torch.arange(batch * (steps + 1), device=row.device)
        # … and one for each named candidate, [h_e; h_c].
        owner, candidate, step = own.nonzero(as_tuple=True)
        position = torch.cat([base, owner * (steps + 1) + step + 1])
        location = torch.cat([torch.zeros_like(base), own[owner, candidate, step]])
        # Sizes come from shape, not len(), because the ONNX exporter cannot trace len().
        index = base.view(batch, 1, steps + 1).repeat(1, n_candidates, 1)
        index[owner, candidate, step + 1] = base.shape[0] + torch.arange(
            owner.shape[0], device=row.device
        )
        return Rows(((positions, position), (locations, location)), position // (steps + 1)), index


_FAR = 3
"""Distances of this many steps or more are not told apart."""


class LocationScorer(nn.Module):
    """One BiLSTM over the T+1 positions; every candidate is scored against its states.

    s(p, c) = w · tanh(W_s h_p + W_c c + W_here c_p + W_next c_{p+1} + d), where c is the mean over
    all mentions of a candidate, c_p the mean over its mentions in step p (zero without mention),
    and d a learned vector for the distances from position p to its last and next mention. Each
    known location (`text.known_locations`) has a learned vector that is added to c; if the text
    does not name it, c is that vector.
    """

    def __init__(
        self,
        *,
        input_width: int,
        location_width: int,
        width: int,
        dropout: float,
        injector: KnowledgeInjector | None,
        n_known: int = 0,
        state_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.injector = injector
        self.unknown = nn.Parameter(torch.randn(location_width) * 0.1)
        self.known = nn.Embedding(n_known + 1, location_width, padding_idx=0) if n_known else None
        self.lstm = SequenceLSTM(
            input_width=injector.width if injector else input_width, width=width
        )
        self.state_dropout = nn.Dropout(state_dropout)
        self.state = nn.Linear(self.lstm.width, width)
        self.location = nn.Linear(location_width, width, bias=False)
        self.here = nn.Linear(location_width, width, bias=False)
        self.next = nn.Linear(location_width, width, bias=False)
        self.distance = nn.Embedding((_FAR + 2) * (_FAR + 1), width)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, 1, bias=False)

    def forward(
        self,
        inputs: Tensor,
        candidates: Tensor,
        is_named: Tensor,
        row: Tensor,
        candidate_mask: Tensor,
        n_steps: Tensor,
        triples: Tensor,
        triple_mask: Tensor,
        numbers: Tensor,
    ) -> tuple[Tensor, Tensor | None]:
        """Give location scores (batch, steps + 1, candidates) and log attention.

        Shapes: inputs (batch, steps, input_width), candidates (rows, candidates, steps,
        location_width), is_named (rows, candidates, steps), row (batch,) the row of candidates of
        each entity, candidate_mask (batch, candidates), numbers (rows, candidates) the number of a
        known location or 0; log attention (batch, candidates, steps + 1, triples).
        """
        # Position 0, before step 1, is an all-zero input.
        inputs = nn.functional.pad(inputs, (0, 0, 1, 0))
        log_attention = None
        if self.injector is not None:
            batch, positions, _ = inputs.shape
            rows, log_rows = self.injector(to_rows(inputs), triples, triple_mask)
            inputs = rows.view(batch, positions, -1)
            log_attention = log_rows.view(batch, 1, positions, -1)
            log_attention = log_attention.expand(-1, candidate_mask.shape[1], -1, -1)
        # (batch, 1, steps + 1, width)
        states = self.state(self.state_dropout(self.lstm(inputs, n_steps + 1))).unsqueeze(1)
        # Terms that do not depend on the entity, once per text: (rows, candidates, 1, width) and
        # (rows, candidates, steps + 1, width)
        means = self._average(candidates, is_named)
        if self.known is not None:
            means = means + self.known(numbers)
        locations = self.location(means).unsqueeze(2)
        here = nn.functional.pad(_project(self.here, candidates, is_named), (0, 0, 1, 0))
        coming = nn.functional.pad(_project(self.next, candidates, is_named), (0, 0, 0, 1))
        distance = self.distance(find_distances(is_named))
        joint = torch.tanh(states + look_up(locations + here + coming + distance, row))
        scores: Tensor = self.output(self.dropout(joint)).squeeze(-1)
        scores = scores.masked_fill(~candidate_mask.unsqueeze(-1), torch.finfo(scores.dtype).min)
        return scores.transpose(1, 2), log_attention

    def _average(self, candidates: Tensor, is_named: Tensor) -> Tensor:
        """Give the mean over the steps that name a candidate; `?` gets its learned vector."""
        n_named = is_named.sum(2, keepdim=True).clamp(min=1)
        means = candidates.sum(2) / n_named
        is_unknown = torch.arange(means.shape[1], device=means.device) == 0
        return torch.where(is_unknown[None, :, None], self.unknown, means)


def _project(layer: nn.Linear, candidates: Tensor, is_named: Tensor) -> Tensor:
    """Apply a layer without bias where a step names a candidate; input and output are 0 elsewhere.

    A candidate is named in one or two steps, so most of the products would be with zeros.
    """
    projected = candidates.new_zeros(*is_named.shape, layer.out_features)
    return projected.masked_scatter(is_named.unsqueeze(-1), layer(candidates[is_named]))


def find_distances(is_named: Tensor) -> Tensor:
    """Encode how far each position is from the mentions of a candidate, as one number.

    (batch, candidates, steps) → (batch, candidates, steps + 1): steps since the last mention (0, 1,
    2, 3 or more, none), combined with steps until the next one (1, 2, 3 or more, none).
    """
    n_steps = is_named.shape[-1]
    position = torch.arange(n_steps + 1, device=is_named.device)[:, None]
    step = torch.arange(1, n_steps + 1, device=is_named.device)[None, :]
    # (batch, candidates, positions, steps)
    named = is_named.unsqueeze(2)
    gap = (position - step).abs().clamp(max=_FAR)
    never = gap.new_full((), _FAR + 1)
    since = torch.where(named & (step <= position), gap, never).amin(-1)
    until = torch.where(named & (step > position), gap, never).amin(-1)
    return since * (_FAR + 1) + until - 1
