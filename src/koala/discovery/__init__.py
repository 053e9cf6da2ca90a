"""Entity discovery: find the entities of a text that are worth tracking."""

from collections.abc import Sequence

from koala.discovery.features import describe_procedures
from koala.discovery.ranker import load_ranker
from koala.document import Procedure
from koala.encoders import open_encoder

__all__ = ["find_entities"]


def find_entities(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[tuple[str, ...]]:
    """Return for each procedure the names of the entities to track, in order of first mention.

    A name lists all forms found in the text, as in `plant; plants`, the most frequent one first.
    If a text has any noun phrase, at least one entity is found.
    """
    ranker = load_ranker()
    described = describe_procedures(procedures, open_encoder(threads=n_threads))
    return [
        tuple(candidates[number].name for number in ranker.choose(descriptions))
        for candidates, descriptions in described
    ]
