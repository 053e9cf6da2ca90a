"""Inputs of the decoders: means over the subwords of mentions, verbs, steps and candidates."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from koala.network.torch.pooling import look_up, masked_mean


@dataclass(frozen=True, slots=True)
class Reading:
    """Vectors of the text for each entity of a batch."""

    entity: Tensor
    """(batch, steps, width): mean over the entity's mentions, zero in steps without any."""
    verbs: Tensor
    """(batch, steps, width): mean over the step's verbs."""
    steps: Tensor | None
    """(batch, steps, width): mean over all subwords of a step; None if the decoders skip it."""
    is_mentioned: Tensor
    """(batch, steps): whether the step mentions the entity."""
    candidates: Tensor
    """(rows, candidates, steps, width): mean over the candidate's mentions. Rows are procedures if
    their entities share one encoded text, else entities."""
    is_named: Tensor
    """(rows, candidates, steps): whether the step names the candidate."""
    numbers: Tensor
    """(rows, candidates): the candidate's number among the known locations; 0: not one of them."""
    row: Tensor
    """(batch,): the row of candidates of each entity."""
    name: Tensor | None = None
    """(batch, width): mean over the entity's name in the list in front of the text, if any."""


def read_text(
    arrays: Mapping[str, Tensor],
    hidden: Tensor,
    *,
    is_own: bool,
    has_steps: bool,
    has_names: bool = False,
) -> Reading:
    """Average the encoder's output over mentions, verbs, steps, candidates and names.

    `hidden` is (procedures, subwords, width), or with `is_own`, where the text is encoded for each
    entity, (batch, subwords, width).
    """
    owner = arrays["procedure"]
    candidate_subwords = (
        arrays["candidate_subwords"][owner] if is_own else arrays["candidate_subwords"]
    )

    def average(name: str) -> Tensor:
        """Average over a mask of each procedure; give the mean for each entity."""
        if is_own:
            return masked_mean(arrays[name][owner], hidden)
        return look_up(masked_mean(arrays[name], hidden), owner)

    own = hidden if is_own else look_up(hidden, owner)
    names = arrays["name_subwords"].unsqueeze(1) if has_names else None
    return Reading(
        entity=masked_mean(arrays["entity_subwords"], own),
        verbs=average("verb_subwords"),
        steps=average("step_subwords") if has_steps else None,
        is_mentioned=arrays["entity_subwords"].any(-1),
        candidates=masked_mean(candidate_subwords, hidden),
        is_named=candidate_subwords.any(-1),
        numbers=arrays["candidate_number"][owner] if is_own else arrays["candidate_number"],
        row=torch.arange(owner.shape[0], device=owner.device) if is_own else owner,
        name=None if names is None else masked_mean(names, own).squeeze(1),
    )


def join_mentions(reading: Reading) -> Tensor:
    """[h_e; h_v], zero where the entity is not mentioned (eq. 1): (batch, steps, 2 · width)."""
    both = torch.cat([reading.entity, reading.verbs], dim=-1)
    return both * reading.is_mentioned.unsqueeze(-1)


def join_steps(reading: Reading) -> Tensor:
    """[h_e; h_v; h_step; is mentioned], never all zero: (batch, steps, 3 · width + 1).

    If all names are listed in front of the text, [h_name; …]: (batch, steps, 4 · width + 1).
    """
    if reading.steps is None:
        raise ValueError("the reading has no step vectors: read_text needs has_steps=True")
    is_mentioned = reading.is_mentioned.unsqueeze(-1).to(reading.entity.dtype)
    parts = [reading.entity, reading.verbs, reading.steps, is_mentioned]
    if reading.name is not None:
        parts.insert(0, reading.name.unsqueeze(1).expand_as(reading.entity))
    return torch.cat(parts, dim=-1)
