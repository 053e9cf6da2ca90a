"""Annotated procedures → a network's scores → grids; torch or not is the network's affair."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from koala.batch import Batch, Batcher
from koala.consensus import choose_rows, draw_lives
from koala.decoding import (
    Decoding,
    Output,
    average_outputs,
    decode_rows,
    find_confidences,
    find_probabilities,
)
from koala.document import Convention, Procedure, annotate
from koala.explanation import Evidence, Explanation, Reason
from koala.grid import Grid, Row
from koala.hints import Reranker, add_hints
from koala.items import Item, group_items, split_items
from koala.knowledge.retrieval import Triples, retrieve_triples
from koala.settings import DecoderSettings, KnowledgeSettings, TextSettings
from koala.states import UNKNOWN, Action, Tag, actions_from_tags
from koala.windows import cut_items, join_outputs, split_windows, stack_outputs

_DEFAULT = DecoderSettings()
SIZE = 32
"""Entities of a batch: more are no quicker on a processor, for padding."""

_N_PLACES = 5
"""Places that a reason names."""

Network = Callable[[Batch], Output]
Scorer = Callable[[Sequence[Item]], Output]
"""Entities in, what one network or several say of them out."""
Scored = tuple[Item, Output, int]
"""An entity, the output that holds it, and its place in it."""
Temperatures = tuple[float, float]
"""Of tags and of places."""
Calibration = Temperatures | Mapping[Convention, Temperatures]
"""One pair for all texts, or a pair for each annotation convention."""
Rerankers = Mapping[Convention, Reranker]
"""Those that were fitted; the reranker of `koala.hints` for other conventions."""
_NO_RERANKERS: Rerankers = {}
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Reader:
    """A network with the batcher that splits texts into its pieces; long texts in windows."""

    network: Network
    batcher: Batcher
    most_pieces: int = 256
    """Word pieces that are read at once: what the encoders were made for."""

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities, all those of a procedure one after the other."""
        groups = group_items(items)
        sizes = [self.batcher.count_pieces(group[0].procedure) for group in groups]
        if all(sum(size) <= self.most_pieces for size in sizes):
            return self.network(self.batcher.build(items))
        pairs = zip(groups, sizes, strict=True)
        return stack_outputs([self._read_long(group, size) for group, size in pairs])

    def _read_long(self, items: Sequence[Item], sizes: Sequence[int]) -> Output:
        windows = split_windows(sizes, self.most_pieces)
        outputs = [self.network(self.batcher.build(cut_items(items, w))) for w in windows]
        return join_outputs(items, windows, outputs)


@dataclass(frozen=True, slots=True)
class Cooled:
    """Divides a scorer's logits by its calibrated temperatures, so that an overconfident member
    does not dominate an ensemble. All items are of one annotation convention.
    """

    scorer: Scorer
    temperatures: Calibration

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities."""
        return self.scorer(items).cool(*choose_temperatures(self.temperatures, items[0].procedure))


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several networks, whose scores are averaged before they are decoded."""

    members: tuple[Scorer, ...]

    def __call__(self, items: Sequence[Item]) -> Output:
        """Score some entities."""
        return average_outputs([member(items) for member in self.members])


def annotate_as(settings: TextSettings, procedures: Sequence[Procedure]) -> list[Procedure]:
    """Add words, mentions and candidates as a network's settings ask for."""
    return annotate(
        procedures,
        has_parts=settings.mentions == "parts",
        has_phrases=settings.places == "phrases",
        known_places=settings.known_places.split(),
    )


def find_triples(
    procedures: Sequence[Procedure],
    settings: KnowledgeSettings,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Triples:
    """Retrieve triples for every entity; none where knowledge is not used."""
    if not settings.is_used:
        return [tuple(() for _ in procedure.entities) for procedure in procedures]
    return retrieve_triples(
        procedures,
        store=settings.store,
        n_triples=settings.n_triples,
        has_fuzzy=settings.has_fuzzy,
        n_threads=n_threads,
        progress=progress,
    )


def score_items(scorer: Scorer, items: Sequence[Item], *, size: int = SIZE) -> Iterator[Scored]:
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
    temperatures: Calibration | None = None,
    rerankers: Rerankers = _NO_RERANKERS,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Predict the grids of all procedures that the items stand in.

    With temperatures of tags and places every cell has a confidence.
    """
    scored = score_items(scorer, items)
    return decode_grids(
        items,
        scored,
        settings=settings,
        temperatures=temperatures,
        rerankers=rerankers,
        progress=progress,
    )


def decode_grids(
    items: Sequence[Item],
    scored: Iterable[Scored],
    *,
    settings: DecoderSettings = _DEFAULT,
    temperatures: Calibration | None = None,
    rerankers: Rerankers = _NO_RERANKERS,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Decode what was said of all items, in any order, into the grids they stand in."""
    rows: dict[tuple[int, int], Row] = {}
    # All entities of a procedure stand in one output, one after the other.
    for _, group in groupby(scored, key=lambda one: id(one[0].procedure)):
        own_items, outputs, indices = zip(*group, strict=True)
        output, names = outputs[0], name_places(own_items[0])
        cooled = _cool(output, own_items, indices, settings, temperatures, rerankers)
        decoded = decode_rows(
            cooled if settings.reads_hints else output,
            indices,
            [_name_of(item) for item in own_items],
            names,
            decoding=_start_of(settings),
        )
        if settings.decoding == "expected":
            decoded = choose_rows(cooled, indices, decoded, names)
        if temperatures is not None:
            decoded = [
                Row.from_locations(
                    row.name, row.locations, find_confidences(cooled, index, row, names)
                )
                for index, row in zip(indices, decoded, strict=True)
            ]
        for item, row in zip(own_items, decoded, strict=True):
            rows[id(item.procedure), item.entity] = row
        progress(len(rows), len(items))
    grids = []
    for procedure in {id(item.procedure): item.procedure for item in items}.values():
        texts = tuple(step.text for step in procedure.steps)
        own = tuple(rows[id(procedure), index] for index in range(len(procedure.entities)))
        grids.append(Grid(procedure.id, texts, own))
    return grids


def _cool(
    output: Output,
    items: Sequence[Item],
    indices: Sequence[int],
    settings: DecoderSettings,
    temperatures: Calibration | None,
    rerankers: Rerankers,
) -> Output:
    """Make the probabilities of the entities of a procedure honest: by temperatures, and by what
    the words around places say.
    """
    cooled = output
    if temperatures is not None:
        cooled = output.cool(*choose_temperatures(temperatures, items[0].procedure))
    if not settings.reads_hints:
        return cooled
    procedure, entities = items[0].procedure, [item.entity for item in items]
    reranker = rerankers.get(procedure.convention)
    return add_hints(cooled, procedure, entities, indices, reranker=reranker)


def choose_temperatures(temperatures: Calibration, procedure: Procedure) -> Temperatures:
    """Give the temperatures for a procedure; 1 where its convention has none."""
    if isinstance(temperatures, Mapping):
        return temperatures.get(procedure.convention, (1.0, 1.0))
    return temperatures


def draw_grids(
    scorer: Scorer,
    items: Sequence[Item],
    n: int,
    *,
    temperatures: Calibration = (1.0, 1.0),
    seed: int = 0,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Draw `n` grids of every procedure, each as often as the network thinks that it is true.

    Who learns from many of them learns how sure the network was, too.
    """
    keys = list(dict.fromkeys(id(item.procedure) for item in items))
    found: dict[int, list[Grid]] = {}
    for key, group in groupby(score_items(scorer, items), key=lambda one: id(one[0].procedure)):
        own_items, outputs, indices = zip(*group, strict=True)
        procedure, names = own_items[0].procedure, name_places(own_items[0])
        entities = [_name_of(item) for item in own_items]
        cooled = outputs[0].cool(*choose_temperatures(temperatures, procedure))
        drawn = draw_lives(cooled, indices, entities, names, n, seed=seed)
        texts = tuple(step.text for step in procedure.steps)
        found[key] = [
            Grid(f"{procedure.id}#{number}", texts, rows) for number, rows in enumerate(drawn, 1)
        ]
        progress(len(found), len(keys))
    return [grid for key in keys for grid in found[key]]


def _start_of(settings: DecoderSettings) -> Decoding:
    """Give the decoding from which one by the expected score goes on."""
    if settings.decoding != "expected":
        return settings.decoding
    return "together" if settings.tags == "uses" else "legal"


def predict_explanations(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    settings: DecoderSettings = _DEFAULT,
    temperatures: Calibration = (1.0, 1.0),
    rerankers: Rerankers = _NO_RERANKERS,
    progress: Progress = lambda _done, _total: None,
) -> list[Explanation]:
    """Predict grids with a reason for every cell."""
    scored = list(score_items(scorer, items))
    grids = decode_grids(
        items,
        scored,
        settings=settings,
        temperatures=temperatures,
        rerankers=rerankers,
        progress=progress,
    )
    reasons = {
        (id(item.procedure), item.entity): find_reasons(
            item, _cool(output, [item], [index], settings, temperatures, rerankers), index
        )
        for item, output, index in scored
    }
    procedures = {id(item.procedure): item.procedure for item in items}.values()
    return [
        Explanation(grid, tuple(reasons[id(p), number] for number in range(len(p.entities))))
        for grid, p in zip(grids, procedures, strict=True)
    ]


def find_reasons(item: Item, output: Output, index: int) -> tuple[Reason, ...]:
    """Say of each step of an entity what the network thinks and what it has read."""
    probabilities = find_probabilities(output, index, name_places(item))
    mentions = _find_offsets(item)
    reasons = []
    for step, tags in enumerate(probabilities.tags):
        actions = dict.fromkeys(Action, 0.0)
        for tag, action in zip(Tag, actions_from_tags(tuple(Tag)), strict=True):
            actions[action] += tags[tag.value]
        places = sorted(probabilities.places[step + 1].items(), key=lambda pair: -pair[1])
        reasons.append(
            Reason(
                actions=actions,
                exists=sum(tags[tag.value] for tag in (Tag.C, Tag.E, Tag.M)),
                places=dict(places[:_N_PLACES]),
                mentions=mentions[step],
                evidence=_find_evidence(item, output, index, step),
            )
        )
    return tuple(reasons)


def _find_offsets(item: Item) -> list[tuple[tuple[int, int], ...]]:
    """Give the offsets of the entity's mentions in the text of each step."""
    procedure = item.procedure
    found: list[list[tuple[int, int]]] = [[] for _ in procedure.steps]
    for span in procedure.entities[item.entity].mentions:
        words = procedure.steps[span.step].words
        found[span.step].append((words[span.start].start, words[span.end - 1].end))
    return [tuple(each) for each in found]


def _find_evidence(item: Item, output: Output, index: int, step: int) -> tuple[Evidence, ...]:
    if output.attention is None or not item.triples:
        return ()
    weights = output.attention[index, step, : len(item.triples)].tolist()
    pairs = sorted(zip(item.triples, weights, strict=True), key=lambda pair: -pair[1])
    return tuple(
        Evidence(triple.head, triple.relation, triple.tail, triple.sentence, weight)
        for triple, weight in pairs
    )


def predict_probabilities(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    temperatures: Calibration = (1.0, 1.0),
) -> Iterator[dict[str, object]]:
    """Give the probability of every tag and place, an entity a line, in the order of the items."""
    found = {
        id(item): find_probabilities(
            output.cool(*choose_temperatures(temperatures, item.procedure)),
            index,
            name_places(item),
        )
        for item, output, index in score_items(scorer, items)
    }
    for item in items:
        yield {
            "id": item.procedure.id,
            "entity": _name_of(item),
            "tags": found[id(item)].tags,
            "places": found[id(item)].places,
        }


def name_places(item: Item) -> tuple[str, ...]:
    """Name the candidates in the order of every output: `?` first.

    As the text writes them; in lemmas where the convention is that of ProPara or Recipes, whose
    gold is. Two that the text writes alike are told apart by their lemmas.
    """
    candidates = item.procedure.candidates
    if item.procedure.convention != "koala":
        return (UNKNOWN, *(candidate.name for candidate in candidates))
    times = Counter(candidate.surface for candidate in candidates)
    names = (c.surface if times[c.surface] == 1 else c.name for c in candidates)
    return (UNKNOWN, *names)


def _name_of(item: Item) -> str:
    return item.procedure.entities[item.entity].name
