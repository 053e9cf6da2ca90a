"""ProPara: tags describe changes, each entity is decoded by itself, scores are document-level."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from koala.decoding import Decoding, Names
from koala.decoding.conditional import Fixes, build_chain
from koala.decoding.marginals import Marginals, find_change_marginals
from koala.decoding.mbr.search import choose_trajectories
from koala.decoding.sampling import build_rows
from koala.decoding.viterbi import decode_row
from koala.evaluation import DocumentScores, score
from koala.evaluation.expectation import Expectation
from koala.evaluation.scores import Grids
from koala.grid import Grid, Row
from koala.network.output import Output
from koala.tasks.task import Task

_RECALL = 0.6
"""Weight of recall; precision has the rest. F1 is computed from their averages over a corpus, so
its derivative by each is proportional to the square of the other: 0.59 for recall at the precision
of 0.80 and the recall of 0.67 of the best published system."""


class ProPara(Task):
    """The task for ProPara and for koala's own corpus."""

    name: ClassVar[str] = "propara"
    decodings: ClassVar[tuple[Decoding, ...]] = ("viterbi", "mbr", "repair", "presence")

    def decode(
        self,
        output: Output,
        entities: Sequence[str],
        names: Names,
        decoding: Decoding,
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Decode each entity by itself; one with fixed cells by its most probable trajectory."""
        rows = []
        for index, name in enumerate(entities):
            if fixes and fixes[index]:
                locations = build_chain(output, index, name, fixes[index]).decode()
                rows.append(build_rows(np.array([locations]), name, names)[0])
            else:
                rows.append(decode_row(output, index, name, names, decoding=decoding))
        return rows

    def decode_mbr(
        self,
        output: Output,
        rows: Sequence[Row],
        names: Names,
        consistency: Mapping[str, float],
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Choose the grid with the best expected document-level score."""
        return choose_trajectories(
            output, rows, names, utility=build_utility, consistency=consistency, fixes=fixes
        )

    def find_marginals(
        self, output: Output, index: int, names: Names, fixes: Sequence[Fixes] = ()
    ) -> Marginals:
        """Give the marginals over legal tag sequences, conditional on fixed cells."""
        if fixes and fixes[index]:
            return build_chain(output, index, "", fixes[index]).find_marginals()
        return find_change_marginals(output, index)

    def score(self, predicted: Grids, gold: Grids) -> DocumentScores:
        """Score at document level, as the ProPara leaderboard does."""
        return score(predicted, gold)

    def write(self, grids: Sequence[Grid]) -> tuple[str, str]:
        """Write the leaderboard's TSV."""
        return ".tsv", "".join(grid.to_tsv() for grid in grids)


def build_utility(truths: Sequence[Grid]) -> Callable[[Grid], float]:
    """Give a function that scores a grid by its expected precision and recall at document level.

    `truths` are equally probable.
    """
    expectation = Expectation(truths)

    def utility(grid: Grid) -> float:
        expected = expectation.score(grid)
        return (1 - _RECALL) * expected.precision + _RECALL * expected.recall

    return utility


PROPARA = ProPara()
