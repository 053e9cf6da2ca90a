"""Entity discovery: the entities of a text that are worth tracking."""

from collections.abc import Sequence

from koala.discovery.features import describe_procedures
from koala.discovery.ranker import load_ranker
from koala.document import Procedure
from koala.encoders import open_encoder

__all__ = ["find_entities"]


def find_entities(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[tuple[str, ...]]:
    """Find for each procedure the names of the entities worth tracking, in order of first mention.

    A name holds the forms the text has for it, as in `plant; plants`, the most frequent one first.
    Where a text names anything at all, at least one entity is found.
    """
    ranker = load_ranker()
    described = describe_procedures(procedures, open_encoder(threads=n_threads))
    return [
        tuple(things[number].name for number in ranker.choose(descriptions))
        for things, descriptions in described
    ]
