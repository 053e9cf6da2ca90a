"""Task: the interface to all that depends on the kind of annotation."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from koala.decoding import Decoding, Names
from koala.decoding.conditional import Fixes
from koala.decoding.marginals import Marginals
from koala.evaluation import DocumentScores, RecipesScores
from koala.evaluation.scores import Grids
from koala.grid import Grid, Row
from koala.network.output import Output


class Task(ABC):
    """Decoding, probabilities and scoring of one kind of annotation.

    In all methods, `output` holds the scores of one procedure in the order of `entities`, and
    `names` are its location candidates, `?` first.
    """

    name: ClassVar[str]
    decodings: ClassVar[tuple[Decoding, ...]]
    """Decodings that the task supports; the first is the default."""

    @abstractmethod
    def decode(
        self,
        output: Output,
        entities: Sequence[str],
        names: Names,
        decoding: Decoding,
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Decode consistent rows with any decoding but MBR."""

    @abstractmethod
    def decode_mbr(
        self,
        output: Output,
        rows: Sequence[Row],
        names: Names,
        consistency: Mapping[str, float],
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Decode by minimum Bayes risk.

        `output` is calibrated, `rows` are its Viterbi rows, and `consistency` holds the weights of
        cross-entity consistency.
        """

    @abstractmethod
    def find_marginals(
        self, output: Output, index: int, names: Names, fixes: Sequence[Fixes] = ()
    ) -> Marginals:
        """Give the probabilities of tags and locations of the entity at `index` of `output`."""

    @abstractmethod
    def score(self, predicted: Grids, gold: Grids) -> DocumentScores | RecipesScores:
        """Score grids with the official metric."""

    @abstractmethod
    def write(self, grids: Sequence[Grid]) -> tuple[str, str]:
        """Give a file suffix, and the grids as text in the corpus's format of predictions."""
