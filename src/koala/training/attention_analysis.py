"""How much of its attention a model gives to the triples that are labelled relevant (figure 7)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from koala.inputs.arrays import Batcher
from koala.inputs.examples import Item, split_items
from koala.inputs.targets import IGNORED, build_gold
from koala.network.torch.koala import KoalaModel
from koala.training.loss import attention_at_gold_location


@dataclass(frozen=True, slots=True)
class AttentionFigures:
    """Over the steps with exactly one labelled triple among several."""

    steps: int
    weight: float
    """Average attention to the labelled triple."""
    top: float
    """Share of the labelled triples that get the most attention of all; of n that get the same,
    each counts 1/n: where a step does not name the entity, all triples get the same."""


def measure_attention(
    model: KoalaModel, batcher: Batcher, items: Sequence[Item]
) -> AttentionFigures | None:
    """Measure on items with gold: the state tracker's attention and, at places, the predictor's.

    None where the model attends to nothing. Steps whose gold place is no candidate tell nothing of
    places.
    """
    weights: list[Tensor] = []
    tops: list[Tensor] = []
    if not model.has_attention:
        return None
    model.eval()
    for batch in split_items(items, 64):
        arrays = batcher.build(batch)
        with torch.no_grad():
            output = model(arrays)
        if output.state_attention is None or output.location_attention is None:
            return None
        gold = build_gold(batch)
        at_locations = attention_at_gold_location(output.location_attention, gold)
        has_location = (gold.locations[:, 1:] != IGNORED)[..., None]
        pairs = (
            (output.state_attention, gold.state_relevance),
            (at_locations, gold.location_relevance & has_location),
        )
        # A triple that is no choice among several tells nothing.
        has_choice = torch.from_numpy(arrays.triple_mask.sum(1) > 1)
        for log_attention, labels in pairs:
            chosen, is_top = _pick_labelled(log_attention, torch.from_numpy(labels), has_choice)
            weights.append(chosen)
            tops.append(is_top)
    weight, top = torch.cat(weights), torch.cat(tops)
    n = max(len(weight), 1)
    return AttentionFigures(len(weight), float(weight.sum()) / n, float(top.sum()) / n)


def _pick_labelled(
    log_attention: Tensor, labels: Tensor, has_choice: Tensor
) -> tuple[Tensor, Tensor]:
    """Give weight, and share of being the highest, of triples labelled alone: both (chosen,).

    Shapes: (batch, steps, triples) both; has_choice (batch,).
    """
    attention = log_attention.exp().cpu()
    is_alone = (labels.sum(-1) == 1) & has_choice[:, None]
    wanted = labels & is_alone.unsqueeze(-1)
    is_best = torch.isclose(attention, attention.max(-1, keepdim=True).values, rtol=1e-5)
    share = is_best / is_best.sum(-1, keepdim=True)
    return attention[wanted], share[wanted]
