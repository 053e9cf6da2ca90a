"""How much attention a model pays to the triples that are labelled relevant (figure 7)."""

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
    """Attention in the steps that have exactly one labelled triple among several."""

    steps: int
    """Number of such steps, of the state tracker and the location predictor together."""
    weight: float
    """Mean attention to the labelled triple."""
    top: float
    """Share of steps in which the labelled triple gets the highest attention. If n triples tie, the
    step counts 1/n: where a step does not name the entity, all triples get the same attention."""


def measure_attention(
    model: KoalaModel, batcher: Batcher, items: Sequence[Item]
) -> AttentionFigures | None:
    """Measure the attention of the state tracker and of the location predictor, on gold items.

    Gives None for a model without attention. The location predictor is measured only in steps whose
    gold location is a candidate.
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
        # A single triple always gets all the attention.
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
    """Give the attention to triples labelled alone, and their share of the top: both (chosen,).

    Shapes: log_attention and labels (batch, steps, triples), has_choice (batch,).
    """
    attention = log_attention.exp().cpu()
    is_alone = (labels.sum(-1) == 1) & has_choice[:, None]
    wanted = labels & is_alone.unsqueeze(-1)
    is_best = torch.isclose(attention, attention.max(-1, keepdim=True).values, rtol=1e-5)
    share = is_best / is_best.sum(-1, keepdim=True)
    return attention[wanted], share[wanted]
