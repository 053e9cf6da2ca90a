"""Corpus → items: annotated procedures, retrieved triples, gold rows and relevance labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from koala.batch import Item
from koala.corpora import Corpus, Example
from koala.document import Candidate, Procedure, annotate
from koala.encoders import open_encoder
from koala.grid import Grid
from koala.knowledge.relevance import VerbSets, count_verbs, label_triples
from koala.knowledge.retrieval import Retriever
from koala.knowledge.store import Store
from koala.knowledge.triple import Triple
from koala.settings import KnowledgeSettings
from koala.states import ABSENT, UNKNOWN

Progress = Callable[[int, int], None]
Triples = list[tuple[tuple[Triple, ...], ...]]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Items to learn from, and examples to choose by."""

    train: tuple[Item, ...]
    dev: tuple[Item, ...]
    dev_gold: dict[str, Grid]


def build_training_data(
    corpus: Corpus, settings: KnowledgeSettings, *, progress: Progress | None = None
) -> TrainingData:
    """Read a corpus for training: verbs are counted, and gold candidates added, on train only."""
    train, dev = corpus.splits["train"], corpus.splits["dev"]
    procedures = annotate([example.procedure for example in (*train, *dev)])
    triples = retrieve_triples(procedures, settings, progress=progress)
    n = len(train)
    verbs = count_verbs(
        (p, example.gold) for p, example in zip(procedures, train, strict=False) if example.gold
    )
    with_gold = [
        add_gold_candidates(p, e.gold) for p, e in zip(procedures, train, strict=False) if e.gold
    ]
    return TrainingData(
        train=tuple(build_items(with_gold, train, triples[:n], verbs)),
        dev=tuple(build_items(procedures[n:], dev, triples[n:], verbs)),
        dev_gold={example.procedure.id: example.gold for example in dev if example.gold},
    )


def retrieve_triples(
    procedures: Sequence[Procedure],
    settings: KnowledgeSettings,
    *,
    progress: Progress | None = None,
) -> Triples:
    """Retrieve triples for every entity; none where knowledge is not used."""
    if not settings.is_used:
        return [tuple(() for _ in procedure.entities) for procedure in procedures]
    with Store.open(settings.store) as store:
        retriever = Retriever(store, open_encoder(), n_triples=settings.n_triples)
        found = retriever.retrieve(procedures, progress=progress)
    return [tuple(tuple(one.triple for one in group) for group in groups) for groups in found]


def build_items(
    procedures: Sequence[Procedure],
    examples: Sequence[Example],
    triples: Triples,
    verbs: VerbSets | None = None,
) -> list[Item]:
    """Build one item an entity, in the order of procedures and entities."""
    items = []
    for procedure, example, groups in zip(procedures, examples, triples, strict=True):
        for index, group in enumerate(groups):
            gold = example.gold.rows[index] if example.gold else None
            labels = label_triples(gold, group, verbs) if gold and verbs and group else None
            items.append(Item(procedure, index, group, gold, labels))
    return items


def add_gold_candidates(procedure: Procedure, gold: Grid) -> Procedure:
    """Add the gold places that are no candidates; training only, never to predict."""
    known = {candidate.name for candidate in procedure.candidates} | {ABSENT, UNKNOWN}
    places = dict.fromkeys(place for row in gold.rows for place in row.locations)
    new = tuple(Candidate(place, ()) for place in places if place not in known)
    return replace(procedure, candidates=procedure.candidates + new)
