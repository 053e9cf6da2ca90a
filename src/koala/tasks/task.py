"""Task: the interface between a corpus's conventions and everything else."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from koala.decoding import Decoding, Names
from koala.decoding.marginals import Marginals
from koala.evaluation import DocumentScores, RecipesScores
from koala.evaluation.scores import Grids
from koala.grid import Grid, Row
from koala.network.output import Output


class Task(ABC):
    """Decoding, probabilities and scoring of one kind of annotation.

    Everywhere, `output` holds the entities of one procedure in the order of `entities`, and `names`
    are the location candidates, `?` first.
    """

    name: ClassVar[str]
    decodings: ClassVar[tuple[Decoding, ...]]
    """Those that the task has; the first is the default."""

    @abstractmethod
    def decode(
        self, output: Output, entities: Sequence[str], names: Names, decoding: Decoding
    ) -> list[Row]:
        """Decode consistent rows without looking at the expected score."""

    @abstractmethod
    def choose(
        self, output: Output, rows: Sequence[Row], names: Names, consistency: Mapping[str, float]
    ) -> list[Row]:
        """Decode by minimum Bayes risk; `rows` are the Viterbi rows, the output is calibrated."""

    @abstractmethod
    def find_marginals(self, output: Output, index: int, names: Names) -> Marginals:
        """Give the probabilities of tags and locations of one entity."""

    @abstractmethod
    def score(self, predicted: Grids, gold: Grids) -> DocumentScores | RecipesScores:
        """Score grids with the official measure."""

    @abstractmethod
    def write(self, grids: Sequence[Grid]) -> tuple[str, str]:
        """Give a file suffix and the grids in the corpus's own prediction format."""
