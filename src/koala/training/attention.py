"""How much of its attention a model gives to the triples that are labelled relevant (figure 7)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from koala.batch import Batcher, build_gold
from koala.items import Item, split_items
from koala.model.koala import KoalaModel
from koala.training.loss import attention_at_gold_place


@dataclass(frozen=True, slots=True)
class AttentionFigures:
    """Over the steps with exactly one labelled triple among several."""

    steps: int
    weight: float
    """Average attention to the labelled triple."""
    top: float
    """Share of the labelled triples that get the most attention of all."""


def measure_attention(
    model: KoalaModel, batcher: Batcher, items: Sequence[Item]
) -> AttentionFigures | None:
    """Measure on items with gold: the state tracker's attention and, at places, the predictor's.

    None where the model attends to nothing.
    """
    weights: list[Tensor] = []
    tops: list[Tensor] = []
    model.eval()
    for batch in split_items(items, 64):
        with torch.no_grad():
            output = model(batcher.build(batch))
        if output.state_attention is None or output.place_attention is None:
            return None
        gold = build_gold(batch)
        at_places = attention_at_gold_place(output.place_attention, gold)
        pairs = ((output.state_attention, gold.state_relevance), (at_places, gold.place_relevance))
        for log_attention, labels in pairs:
            chosen, is_top = _pick_labelled(log_attention, torch.from_numpy(labels))
            weights.append(chosen)
            tops.append(is_top)
    weight, top = torch.cat(weights), torch.cat(tops)
    n = max(len(weight), 1)
    return AttentionFigures(len(weight), float(weight.sum()) / n, float(top.sum()) / n)


def _pick_labelled(log_attention: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Give weight, and whether it is the highest, of triples labelled alone: both (chosen,)."""
    # (batch, steps, triples); a triple that is no choice among several tells nothing
    attention = log_attention.exp().cpu()
    has_choice = (attention > 0).sum(-1) > 1
    is_alone = (labels.sum(-1) == 1) & has_choice
    wanted = labels & is_alone.unsqueeze(-1)
    best = attention.max(-1, keepdim=True).values
    return attention[wanted], (attention == best)[wanted]
