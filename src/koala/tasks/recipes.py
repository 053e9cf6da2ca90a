"""Recipes: tags describe participation, the ingredients of a recipe are decoded jointly, scores are
those of location changes.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from koala.corpora.recipes import write_grids
from koala.decoding import Decoding, Names
from koala.decoding.conditional import Fixes
from koala.decoding.conditional_recipes import fix_recipe
from koala.decoding.marginals import Marginals
from koala.decoding.mbr.recipes import choose_changes
from koala.decoding.recipes import NOWHERE, decode_recipe, find_participation_marginals
from koala.errors import KoalaError
from koala.evaluation import RecipesScores, score_recipes
from koala.evaluation.scores import Grids, group_by_id
from koala.grid import Grid, Row
from koala.grid.states import ABSENT
from koala.network.output import Output
from koala.tasks.propara import PROPARA
from koala.tasks.task import Task


class Recipes(Task):
    """The task for models of Recipes that predict participation."""

    name: ClassVar[str] = "recipes"
    decodings: ClassVar[tuple[Decoding, ...]] = ("viterbi", "mbr")

    def decode(
        self,
        output: Output,
        entities: Sequence[str],
        names: Names,
        decoding: Decoding,
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Decode all ingredients jointly: a step has one location for all ingredients it uses."""
        rows = decode_recipe(fix_recipe(output, fixes, entities))
        return [
            Row.from_locations(name, [names[n] if n != NOWHERE else ABSENT for n in row])
            for name, row in zip(entities, rows, strict=True)
        ]

    def decode_mbr(
        self,
        output: Output,
        rows: Sequence[Row],
        names: Names,
        consistency: Mapping[str, float],
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Choose the location changes with the best expected F1."""
        return choose_changes(fix_recipe(output, fixes), [row.name for row in rows], names)

    def find_marginals(
        self, output: Output, index: int, names: Names, fixes: Sequence[Fixes] = ()
    ) -> Marginals:
        """Turn probabilities of participation into those of changes and locations."""
        return find_participation_marginals(fix_recipe(output, fixes), index, names)

    def score(self, predicted: Grids, gold: Grids) -> RecipesScores:
        """Score location changes."""
        return score_recipes(group_by_id(predicted), group_by_id(gold))

    def write(self, grids: Sequence[Grid]) -> tuple[str, str]:
        """Write JSON lines in the format of the corpus."""
        return ".jsonl", write_grids(grids)


class RecipesChanges(Recipes):
    """Recipes with tags that describe changes, as in the paper; without MBR decoding."""

    decodings: ClassVar[tuple[Decoding, ...]] = ("viterbi", "repair", "presence")

    def decode(
        self,
        output: Output,
        entities: Sequence[str],
        names: Names,
        decoding: Decoding,
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Decode each ingredient by itself."""
        return PROPARA.decode(output, entities, names, decoding, fixes)

    def decode_mbr(
        self,
        output: Output,
        rows: Sequence[Row],
        names: Names,
        consistency: Mapping[str, float],
        fixes: Sequence[Fixes] = (),
    ) -> list[Row]:
        """Refuse: MBR decoding of recipes needs participation tags."""
        raise KoalaError(
            'MBR decoding of recipes needs a model with decoder.tags = "participation"; this model '
            'has "changes". Use Viterbi decoding.'
        )

    def find_marginals(
        self, output: Output, index: int, names: Names, fixes: Sequence[Fixes] = ()
    ) -> Marginals:
        """Give the marginals over legal tag sequences."""
        return PROPARA.find_marginals(output, index, names, fixes)


RECIPES = Recipes()
RECIPES_CHANGES = RecipesChanges()
