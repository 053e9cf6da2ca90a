"""Annotated procedures → a network's scores → grids; torch or not is the network's affair."""

from collections.abc import Callable, Iterator, Sequence

from koala.batch import Batch, Batcher, Item, split_items
from koala.decoding import Output, decode_row, find_confidences, find_probabilities
from koala.document import Procedure
from koala.grid import Grid, Row
from koala.knowledge.retrieval import Triples, retrieve_triples
from koala.settings import DecoderSettings, KnowledgeSettings
from koala.states import UNKNOWN

_DEFAULT = DecoderSettings()

Network = Callable[[Batch], Output]
Progress = Callable[[int, int], None]


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


def run_network(
    network: Network, batcher: Batcher, items: Sequence[Item], *, size: int = 64
) -> Iterator[tuple[Item, Output, int]]:
    """Run all items, batch by batch; give each with the output that holds it, and its place."""
    for batch in split_items(items, size):
        output = network(batcher.build(batch))
        for index, item in enumerate(batch):
            yield item, output, index


def predict_grids(
    network: Network,
    batcher: Batcher,
    items: Sequence[Item],
    *,
    settings: DecoderSettings = _DEFAULT,
    temperatures: tuple[float, float] | None = None,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Predict the grids of all procedures that the items stand in.

    With temperatures of tags and places every cell has a confidence.
    """
    rows: dict[tuple[int, int], Row] = {}
    for item, output, index in run_network(network, batcher, items):
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
    network: Network,
    batcher: Batcher,
    items: Sequence[Item],
    *,
    temperatures: tuple[float, float] = (1.0, 1.0),
) -> Iterator[dict[str, object]]:
    """Give the probability of every tag and place, an entity a line."""
    for item, output, index in run_network(network, batcher, items):
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
