"""Annotated procedures → a network's scores → grids; torch or not is the network's affair."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from koala.batch import Batch, Batcher, Item, split_items
from koala.decoding import (
    Output,
    average_outputs,
    decode_row,
    find_confidences,
    find_probabilities,
)
from koala.document import Procedure
from koala.grid import Grid, Row
from koala.knowledge.retrieval import Triples, retrieve_triples
from koala.settings import DecoderSettings, KnowledgeSettings
from koala.states import UNKNOWN

_DEFAULT = DecoderSettings()

Network = Callable[[Batch], Output]
Scorer = Callable[[Sequence[Item]], Output]
"""Entities in, what one network or several say of them out."""
Scored = tuple[Item, Output, int]
"""An entity, the output that holds it, and its place in it."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Reader:
    """A network with the batcher that splits texts into its pieces."""

    network: Network
    batcher: Batcher

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities."""
        return self.network(self.batcher.build(items))


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several networks, whose scores are averaged before they are decoded."""

    members: tuple[Scorer, ...]

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities."""
        return average_outputs([member(items) for member in self.members])


def find_triples(
    procedures: Sequence[Procedure],
    settings: KnowledgeSettings,
    *,
    progress: Progress | None = None,
) -> Triples:
    """Retrieve triples for every entity; none where knowledge is not used."""
    if not settings.is_used:
        return [tuple(() for _ in procedure.entities) for procedure in procedures]
    return retrieve_triples(
        procedures, store=settings.store, n_triples=settings.n_triples, progress=progress
    )


def score_items(scorer: Scorer, items: Sequence[Item], *, size: int = 64) -> Iterator[Scored]:
    """Score all items, batch by batch."""
    for batch in split_items(items, size):
        output = scorer(batch)
        for index, item in enumerate(batch):
            yield item, output, index


def predict_grids(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    settings: DecoderSettings = _DEFAULT,
    temperatures: tuple[float, float] | None = None,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Predict the grids of all procedures that the items stand in.

    With temperatures of tags and places every cell has a confidence.
    """
    scored = score_items(scorer, items)
    return decode_grids(
        items, scored, settings=settings, temperatures=temperatures, progress=progress
    )


def decode_grids(
    items: Sequence[Item],
    scored: Iterable[Scored],
    *,
    settings: DecoderSettings = _DEFAULT,
    temperatures: tuple[float, float] | None = None,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Decode what was said of all items, in any order, into the grids they stand in."""
    rows: dict[tuple[int, int], Row] = {}
    for item, output, index in scored:
        names = name_places(item)
        row = decode_row(
            output,
            index,
            _name_of(item),
            names,
            decoding=settings.decoding,
            place_weight=settings.place_weight,
        )
        if temperatures is not None:
            confidences = find_confidences(output.cool(*temperatures), index, row, names)
            row = Row.from_locations(row.name, row.locations, confidences)
        rows[id(item.procedure), item.entity] = row
        progress(len(rows), len(items))
    grids = []
    for procedure in {id(item.procedure): item.procedure for item in items}.values():
        texts = tuple(step.text for step in procedure.steps)
        own = tuple(rows[id(procedure), index] for index in range(len(procedure.entities)))
        grids.append(Grid(procedure.id, texts, own))
    return grids


def predict_probabilities(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    temperatures: tuple[float, float] = (1.0, 1.0),
) -> Iterator[dict[str, object]]:
    """Give the probability of every tag and place, an entity a line."""
    for item, output, index in score_items(scorer, items):
        probabilities = find_probabilities(output.cool(*temperatures), index, name_places(item))
        yield {
            "id": item.procedure.id,
            "entity": _name_of(item),
            "tags": probabilities.tags,
            "places": probabilities.places,
        }


def name_places(item: Item) -> tuple[str, ...]:
    """Name the candidates in the order of every output: `?` first."""
    return (UNKNOWN, *(candidate.name for candidate in item.procedure.candidates))


def _name_of(item: Item) -> str:
    return item.procedure.entities[item.entity].name
