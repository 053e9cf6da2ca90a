"""Scoring of entities by one network or an ensemble; long texts are read in windows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from koala.document import Procedure
from koala.inference.calibration import Calibration
from koala.inference.windows import cut_items, join_outputs, split_windows, stack_outputs
from koala.inputs.arrays import Batch, Batcher
from koala.inputs.examples import Item, group_items, plan_batches
from koala.network.output import Output, average_outputs

BATCH_SIZE = 32
"""Entities in a batch; larger batches are no faster on a CPU, because of padding."""

Network = Callable[[Batch], Output]
Scorer = Callable[[Sequence[Item]], Output]
"""Scores entities; those of one procedure must be next to each other."""


@dataclass(frozen=True, slots=True)
class Scored:
    """All entities of one procedure, and the network's scores for them in the same order."""

    items: tuple[Item, ...]
    output: Output

    @property
    def procedure(self) -> Procedure:
        """The procedure of the entities."""
        return self.items[0].procedure


@dataclass(frozen=True, slots=True)
class NetworkScorer:
    """A network and the batcher of its inputs; long texts are read in windows."""

    network: Network
    batcher: Batcher
    most_subwords: int = 256
    """Subwords in a window: the length that the encoders were trained for."""

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities."""
        groups = group_items(items)
        sizes = [self.batcher.count_subwords(group[0].procedure) for group in groups]
        if all(sum(size) <= self.most_subwords for size in sizes):
            return self.network(self.batcher.build(items))
        pairs = zip(groups, sizes, strict=True)
        return stack_outputs([self._score_long(group, size) for group, size in pairs])

    def _score_long(self, items: Sequence[Item], sizes: Sequence[int]) -> Output:
        windows = split_windows(sizes, self.most_subwords)
        outputs = [self.network(self.batcher.build(cut_items(items, w))) for w in windows]
        return join_outputs(items, windows, outputs)


@dataclass(frozen=True, slots=True)
class TemperatureScaled:
    """Divides a scorer's logits by its calibrated temperatures, so that an overconfident member
    does not dominate an ensemble. All items must have the same annotation convention.
    """

    scorer: Scorer
    calibration: Calibration

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities."""
        return self.calibration.scale(self.scorer(items), items[0].procedure)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several scorers whose scores are averaged before decoding."""

    members: tuple[Scorer, ...]

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities."""
        return average_outputs([member(items) for member in self.members])


def score_procedures(
    scorer: Scorer, items: Sequence[Item], *, size: int = BATCH_SIZE
) -> Iterator[tuple[int, Scored]]:
    """Score all entities in batches of similar length.

    Gives the number of each procedure in the order of `items`, and its scores. Short texts come
    first.
    """
    groups = group_items(items)
    for numbers in plan_batches(groups, size):
        output = scorer([item for number in numbers for item in groups[number]])
        start = 0
        for number in numbers:
            stop = start + len(groups[number])
            yield number, Scored(tuple(groups[number]), output.take(start, stop))
            start = stop


def score_all(scorer: Scorer, items: Sequence[Item], *, size: int = BATCH_SIZE) -> list[Scored]:
    """Score all procedures, in the order of `items`."""
    found = sorted(score_procedures(scorer, items, size=size), key=lambda pair: pair[0])
    return [scored for _, scored in found]
