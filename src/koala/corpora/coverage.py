"""Measure how many gold locations are among the location candidates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from koala.corpora.corpus import Example
from koala.corpora.naming import name_as_candidates
from koala.document import annotate
from koala.grid.states import ABSENT, UNKNOWN


@dataclass(frozen=True, slots=True)
class Coverage:
    """Recall of gold locations.

    `locations` counts each location once per procedure, `cells` once for every cell of the gold
    grid that names it; `-` and `?` are not counted. A location is found if a candidate has exactly
    its name; for koala's own corpus, if the text writes a candidate so, up to word endings.
    """

    procedures: int
    candidates: int
    locations: int
    locations_found: int
    cells: int
    cells_found: int
    missed: tuple[tuple[str, str], ...]
    """Procedure id and location of those not found."""

    @property
    def location_recall(self) -> float:
        """The share of distinct gold locations that are candidates."""
        return self.locations_found / self.locations if self.locations else 1.0

    @property
    def cell_recall(self) -> float:
        """The share of cells whose location is a candidate."""
        return self.cells_found / self.cells if self.cells else 1.0

    @property
    def candidates_per_procedure(self) -> float:
        """Average number of candidates of a procedure."""
        return self.candidates / self.procedures if self.procedures else 0.0


def measure_coverage(examples: Sequence[Example]) -> Coverage:
    """Find the candidates of every procedure and compare them with its gold locations."""
    procedures = annotate([example.procedure for example in examples])
    examples = name_as_candidates(examples, procedures)
    gold: Counter[tuple[str, str]] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for procedure, example in zip(procedures, examples, strict=True):
        names = {candidate.name for candidate in procedure.candidates}
        for row in example.gold.rows if example.gold else ():
            for location in row.locations:
                if location in (ABSENT, UNKNOWN):
                    continue
                gold[procedure.id, location] += 1
                found[procedure.id, location] += location in names
    return Coverage(
        procedures=len(procedures),
        candidates=sum(len(procedure.candidates) for procedure in procedures),
        locations=len(gold),
        locations_found=sum(1 for count in found.values() if count),
        cells=gold.total(),
        cells_found=found.total(),
        missed=tuple(key for key in gold if not found[key]),
    )
