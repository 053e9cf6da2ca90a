"""The three losses and their weighted sum (equations 4, 8, 16 and 17)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from koala.grid.states import Tag
from koala.inputs.examples import Item, items_by_annotator
from koala.inputs.targets import IGNORED, TAGS, Gold, build_gold
from koala.network.torch.crf import CRF
from koala.network.torch.output import TensorOutput
from koala.settings import LossSettings


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses of a batch; a loss without targets is 0, not NaN."""

    state: Tensor
    location: Tensor
    attention: Tensor
    total: Tensor


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of targets that the losses of some entities are averaged over."""

    entities: int
    """For the state loss."""
    locations: float
    """For the location loss; not a whole number, because annotators and positions have weights."""
    triples: int
    """For the attention loss: pairs of a triple and a step."""


@dataclass(frozen=True, slots=True)
class Target:
    """The right answers for some entities, and their weight in the losses."""

    gold: Gold
    weight: float = 1.0


def build_targets(items: Sequence[Item], annotators: float = 0.0) -> list[Target]:
    """Build the targets: gold with weight 1 − `annotators`, and single annotators with the rest."""
    views = items_by_annotator(items) if annotators else []
    if not views:
        return [Target(build_gold(items))]
    share = annotators / len(views)
    return [
        Target(build_gold(items), 1 - annotators),
        *(Target(build_gold(view), share) for view in views),
    ]


def compute_losses(
    output: TensorOutput, targets: Sequence[Target], crf: CRF, settings: LossSettings
) -> Losses:
    """Compute the losses of a network's output for gold and, if given, for single annotators.

    Gold must be the first target: only gold has relevance labels for the attention loss.
    """
    device = output.tags.device
    zero = output.tags.new_zeros(())
    state, location, n_locations = zero, zero, 0.0
    # The expensive part, the same for every target.
    log_partition = crf.log_partition(output.tags, output.step_mask)
    for target in targets:
        tags = torch.from_numpy(target.gold.tags).to(device)
        state = state + target.weight * state_loss(output, tags, crf, log_partition)
        n = count_locations(target.gold, settings)
        location = location + target.weight * n * location_loss(output, target.gold, settings)
        n_locations += target.weight * n
    location = location / max(n_locations, 1e-6)
    attention = attention_loss(output, targets[0].gold, settings)
    return _add_up(state, location, attention, settings)


def _add_up(state: Tensor, location: Tensor, attention: Tensor, settings: LossSettings) -> Losses:
    total = state + settings.location * location + settings.attention * attention
    return Losses(state, location, attention, total)


def weigh_losses(losses: Losses, share: Counts, whole: Counts, settings: LossSettings) -> Losses:
    """Weigh the losses of a share of a batch, so that the shares add up to the whole batch."""
    return _add_up(
        losses.state * (share.entities / max(whole.entities, 1)),
        losses.location * (share.locations / max(whole.locations, 1e-6)),
        losses.attention * (share.triples / max(whole.triples, 1)),
        settings,
    )


def weigh_positions(gold: Gold, settings: LossSettings) -> NDArray[np.float32]:
    """Give the weights of the positions in the location loss: (batch, steps + 1).

    Positions without a location have none; those at which the entity stays weigh
    `loss.staying_location`.
    """
    weights: NDArray[np.float32] = (gold.locations != IGNORED).astype(np.float32)
    if not settings.has_initial_location:
        weights[:, 0] = 0
    if settings.staying_location != 1:
        weights[:, 1:][gold.tags == TAGS.index(Tag.E)] *= settings.staying_location
    return weights


def count_locations(gold: Gold, settings: LossSettings) -> float:
    """Add up the weights of the positions that the location loss is averaged over."""
    return float(weigh_positions(gold, settings).sum())


def count_targets(items: Sequence[Item], settings: LossSettings, annotators: float = 0.0) -> Counts:
    """Count the targets that the losses of some entities are averaged over."""
    targets = build_targets(items, annotators)
    gold = targets[0].gold
    n_locations = sum(target.weight * count_locations(target.gold, settings) for target in targets)
    n_triples = int(gold.state_relevance.sum() + gold.location_relevance.sum())
    if settings.attention_form != "positives":
        n_steps = sum(len(item.procedure.steps) for item in items)
        n_triples = n_steps * gold.state_relevance.shape[-1]
    return Counts(len(items), n_locations, n_triples)


def state_loss(output: TensorOutput, tags: Tensor, crf: CRF, log_partition: Tensor) -> Tensor:
    """L_state: −1/T log P(tags), averaged over entities (equation 4)."""
    log_likelihood = crf.score(output.tags, tags, output.step_mask) - log_partition
    return -(log_likelihood / output.step_mask.sum(1)).mean()


def location_loss(output: TensorOutput, gold: Gold, settings: LossSettings) -> Tensor:
    """L_loc: −log P(gold location), a weighted mean over the positions that have one (equation 8).

    Where an ingredient of a recipe may stay as well, −log P(gold location or staying).
    """
    locations = torch.from_numpy(gold.locations).to(output.locations.device)
    may_stay = torch.from_numpy(gold.may_stay).to(output.locations.device)
    # (batch, steps + 1, candidates)
    log_probabilities = output.locations.log_softmax(-1)
    weights = torch.from_numpy(weigh_positions(gold, settings)).to(output.locations.device)
    chosen = log_probabilities.gather(2, locations.clamp(min=0).unsqueeze(2)).squeeze(2)
    either = torch.logaddexp(chosen, log_probabilities[:, :, 0])
    chosen = torch.where(may_stay & (locations > 0), either, chosen)
    # Positions without a location get no gradient.
    total = torch.where(weights > 0, weights * chosen, 0.0).sum()
    return -total / max(float(weights.sum()), 1e-6)


def attention_loss(output: TensorOutput, gold: Gold, settings: LossSettings) -> Tensor:
    """L_attn: −log α of the relevant triples, over both states and locations (equation 16)."""
    zero = output.tags.new_zeros(())
    if output.state_attention is None or settings.attention == 0:
        return zero
    device = output.tags.device
    # (batch, steps, triples)
    state_labels = torch.from_numpy(gold.state_relevance).to(device)
    location_labels = torch.from_numpy(gold.location_relevance).to(device)
    log_attention = [output.state_attention]
    labels = [state_labels]
    if output.location_attention is not None:
        log_attention.append(attention_at_gold_location(output.location_attention, gold))
        labels.append(location_labels)
    chosen = torch.stack(log_attention)
    wanted = torch.stack(labels)
    if settings.attention_form == "positives":
        return -_mean_where(chosen, wanted)
    # Equation 16 divides by all pairs of a triple and a step, relevant or not.
    pairs = output.step_mask.sum() * chosen.shape[-1]
    return -torch.where(wanted, chosen, 0.0).sum() / pairs.clamp(min=1)


def attention_at_gold_location(log_attention: Tensor, gold: Gold) -> Tensor:
    """Give the log attention of the gold candidate in each step: (batch, steps, triples).

    Shape: log_attention (batch, candidates, steps + 1, triples).
    """
    locations = torch.from_numpy(gold.locations[:, 1:]).to(log_attention.device).clamp(min=0)
    # (batch, candidates, steps, triples); position 0 is before step 1
    steps = log_attention[:, :, 1:]
    index = locations[:, None, :, None].expand(-1, 1, -1, steps.shape[-1])
    return steps.gather(1, index).squeeze(1)


def _mean_where(values: Tensor, mask: Tensor) -> Tensor:
    """Average the values at which the mask is True, or give 0; the others get no gradient."""
    return torch.where(mask, values, 0.0).sum() / mask.sum().clamp(min=1)
