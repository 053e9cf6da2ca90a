"""Participants: the entities of a text that are worth tracking, found without being named."""

from collections.abc import Sequence

from koala.document import Procedure
from koala.encoders import open_encoder
from koala.participants.features import describe_procedures
from koala.participants.ranker import load_ranker

__all__ = ["find_participants"]


def find_participants(
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
