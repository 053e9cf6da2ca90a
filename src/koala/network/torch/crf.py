"""Linear-chain conditional random field over tags (equations 3 and 4)."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from koala.grid.states import FIRST_TAGS, TRANSITIONS, Tag, find_last_tags

_IMPOSSIBLE = -1e4


class CRF(nn.Module):
    """Scores tag sequences: emissions plus transitions ψ(y_{t-1}, y_t), start and end scores.

    With `is_legal`, illegal transitions get a probability of practically zero in training, as they
    do in decoding; without it all transitions are learned, as in the paper. `may_be_absent` also
    allows sequences in which the entity never exists.
    """

    def __init__(self, *, is_legal: bool, may_be_absent: bool = False) -> None:
        super().__init__()
        n_tags = len(Tag)
        self.transitions = nn.Parameter(torch.zeros(n_tags, n_tags))
        self.starts = nn.Parameter(torch.zeros(n_tags))
        self.ends = nn.Parameter(torch.zeros(n_tags))
        transition, start, end = (
            legal_barriers(may_be_absent=may_be_absent) if is_legal else [torch.zeros(1)] * 3
        )
        self._transition_barrier = nn.Buffer(transition, persistent=False)
        self._start_barrier = nn.Buffer(start, persistent=False)
        self._end_barrier = nn.Buffer(end, persistent=False)

    def init_from_counts(self, sequences: Iterable[Sequence[Tag]]) -> None:
        """Initialise the scores with log probabilities counted in gold sequences.

        Every count starts at 1, so illegal transitions start like rare ones.
        """
        order = {tag: number for number, tag in enumerate(Tag)}
        moves = torch.ones(len(order), len(order))
        starts, ends = torch.ones(len(order)), torch.ones(len(order))
        for tags in sequences:
            numbers = [order[tag] for tag in tags]
            starts[numbers[0]] += 1
            ends[numbers[-1]] += 1
            for current_tag, next_tag in pairwise(numbers):
                moves[current_tag, next_tag] += 1
        with torch.no_grad():
            self.transitions.copy_((moves / moves.sum(1, keepdim=True)).log())
            self.starts.copy_((starts / starts.sum()).log())
            # How often a tag ends a sequence, among all its occurrences.
            self.ends.copy_((ends / (moves.sum(1) + ends)).log())

    def potentials(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give the scores of transitions (current tag, next tag), starts (tags), ends (tags)."""
        return (
            self.transitions + self._transition_barrier,
            self.starts + self._start_barrier,
            self.ends + self._end_barrier,
        )

    def log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Give log P(tags) of each sequence: (batch,).

        Shapes: emissions (batch, steps, tags), tags (batch, steps), mask (batch, steps). Padding
        must come after the real steps.
        """
        return self.score(emissions, tags, mask) - self.log_partition(emissions, mask)

    def score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Give the unnormalised log score of each tag sequence: (batch,)."""
        transitions, starts, ends = self.potentials()
        # (batch, steps)
        emitted = emissions.gather(2, tags.unsqueeze(2)).squeeze(2) * mask
        moved = transitions[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]
        last = mask.sum(1).long() - 1
        last_tags = tags.gather(1, last.unsqueeze(1)).squeeze(1)
        return starts[tags[:, 0]] + emitted.sum(1) + moved.sum(1) + ends[last_tags]

    def log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Give log Σ exp(score) over all tag sequences: (batch,)."""
        transitions, starts, ends = self.potentials()
        # (batch, current_tag)
        alpha = starts + emissions[:, 0]
        for step in range(1, emissions.shape[1]):
            # (batch, current_tag, next_tag) → (batch, next_tag)
            paths = alpha.unsqueeze(2) + transitions + emissions[:, step].unsqueeze(1)
            alpha = torch.where(mask[:, step].unsqueeze(1), paths.logsumexp(1), alpha)
        return (alpha + ends).logsumexp(1)


def legal_barriers(*, may_be_absent: bool = False) -> list[Tensor]:
    """Give tensors to add to transitions, starts and ends: 0 where legal, very low elsewhere."""
    tags = list(Tag)
    rows = [[0.0 if b in TRANSITIONS[a] else _IMPOSSIBLE for b in tags] for a in tags]
    starts = [0.0 if tag in FIRST_TAGS else _IMPOSSIBLE for tag in tags]
    last = find_last_tags(may_be_absent=may_be_absent)
    ends = [0.0 if tag in last else _IMPOSSIBLE for tag in tags]
    return [torch.tensor(rows), torch.tensor(starts), torch.tensor(ends)]
