"""What the decoders read: means over the pieces of mentions, verbs, steps and candidates."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from koala.network.torch.pooling import look_up, masked_mean


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is read for each entity of a batch."""

    entity: Tensor
    """(batch, steps, width): the mean over its mentions, zero where it has none."""
    verbs: Tensor
    """(batch, steps, width)"""
    steps: Tensor | None
    """(batch, steps, width): the mean over all pieces of a step, where asked for."""
    is_mentioned: Tensor
    """(batch, steps)"""
    candidates: Tensor
    """(rows, candidates, steps, width): each text once, where all entities read the same one."""
    is_named: Tensor
    """(rows, candidates, steps)"""
    numbers: Tensor
    """(rows, candidates): which of the places that are known beforehand."""
    row: Tensor
    """(batch,): the row of candidates that is each entity's."""
    name: Tensor | None = None
    """(batch, width): the mean over its name in front of the text, where all names are there."""


def read_text(
    arrays: Mapping[str, Tensor],
    hidden: Tensor,
    *,
    is_own: bool,
    has_steps: bool,
    has_names: bool = False,
) -> Reading:
    """Average what an encoder says.

    `hidden` is (procedures, pieces, width), or with `is_own` (batch, pieces, width).
    """
    owner = arrays["procedure"]
    candidate_subwords = (
        arrays["candidate_subwords"][owner] if is_own else arrays["candidate_subwords"]
    )

    def average(name: str) -> Tensor:
        """Average where a mask of each procedure is True, for each of its entities."""
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
    joint = torch.cat([reading.entity, reading.verbs], dim=-1)
    return joint * reading.is_mentioned.unsqueeze(-1)


def join_steps(reading: Reading) -> Tensor:
    """[h_e; h_v; h_step; mentioned]: every step says something: (batch, steps, 3 · width + 1).

    Where names stand in front of the text, [h_name; …]: width more.
    """
    if reading.steps is None:
        raise ValueError("the reading has no steps")
    is_mentioned = reading.is_mentioned.unsqueeze(-1).to(reading.entity.dtype)
    parts = [reading.entity, reading.verbs, reading.steps, is_mentioned]
    if reading.name is not None:
        parts.insert(0, reading.name.unsqueeze(1).expand_as(reading.entity))
    return torch.cat(parts, dim=-1)
