"""Perplexity of a masked language model on the nouns and verbs of texts, or on triples.

Every target (a noun or verb, or part of a triple) is masked exactly once. The targets of a text are
assigned to a fixed number of parts in turn (the first to part 1, the second to part 2, …), and one
part is masked at a time, always with the mask token. With four parts, about as much is masked at a
time as in training (a quarter of the nouns and verbs; in training 0.3), and never two neighbours.
Nothing is random, so that results differ only if the models differ.
"""

import math
from collections.abc import Sequence

import torch

from koala.errors import KoalaError
from koala.pretraining.batches import collate
from koala.pretraining.head import MaskedLanguageModel
from koala.pretraining.masking import IGNORED, Example, Masked

PARTS = 4


def mask_in_parts(
    examples: Sequence[Example], mask_subword: int, *, parts: int = PARTS
) -> list[Masked]:
    """Mask every target of every example exactly once.

    >>> for masked in mask_in_parts([Example((1, 5, 6, 7, 2), ((1,), (3,)))], 9, parts=2):
    ...     print(masked.subwords, masked.labels)
    (1, 9, 6, 7, 2) (-100, 5, -100, -100, -100)
    (1, 5, 6, 9, 2) (-100, -100, -100, 7, -100)
    """
    masked = []
    for example in examples:
        for part in range(min(parts, len(example.targets))):
            hidden = {position for target in example.targets[part::parts] for position in target}
            rows = list(enumerate(example.subwords))
            masked.append(
                Masked(
                    tuple(mask_subword if i in hidden else subword for i, subword in rows),
                    tuple(subword if i in hidden else IGNORED for i, subword in rows),
                )
            )
    return masked


def measure_perplexity(
    model: MaskedLanguageModel, examples: Sequence[Masked], *, pad: int, batch: int = 32
) -> float:
    """Return exp of the mean NLL of all masked subwords; the model is left unchanged."""
    if not examples:
        raise KoalaError("Measuring perplexity needs at least one example; none was given.")
    device = model.embeddings.device
    ordered = sorted(examples, key=lambda each: len(each.subwords))
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(ordered), batch):
            tensors = collate(ordered[start : start + batch], pad)
            losses = model(**{name: value.to(device) for name, value in tensors.items()})
            total += float(losses.cpu().double().sum())
            count += losses.numel()
    model.train(was_training)
    return math.exp(min(total / max(count, 1), 700.0))
