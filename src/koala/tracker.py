"""Tracker: text in, Grid out; joins annotation, knowledge, network and decoding."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from koala.batch import Batcher
from koala.document import Entity, Procedure, Step, build_entity
from koala.errors import KoalaError
from koala.explanation import Explanation
from koala.grid import Grid
from koala.items import Item, build_items
from koala.prediction import (
    Ensemble,
    Reader,
    Scorer,
    annotate_as,
    find_triples,
    predict_explanations,
    predict_grids,
    predict_probabilities,
)
from koala.runtime.files import TOKENIZER, Card
from koala.runtime.models import DEFAULT, find_model
from koala.runtime.network import OnnxNetwork
from koala.text import stem_content

Progress = Callable[[int, int], None]

_N_KEPT = 64
"""Texts that a tracker remembers: enough for a chunk, few for a server that runs for weeks."""


class Tracker:
    """Tracks the entities of procedures with one network, or several that were joined."""

    def __init__(
        self,
        scorer: Scorer,
        card: Card,
        *,
        has_knowledge: bool = True,
        n_threads: int | None = None,
    ) -> None:
        self.card = card
        self.n_threads = n_threads
        self.scorer = scorer
        self.settings = card.read_settings()
        knowledge = self.settings.knowledge
        self._knowledge = replace(knowledge, is_used=knowledge.is_used and has_knowledge)

    def track(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None = None,
        *,
        find: bool = False,
        id: str = "text",
    ) -> Grid:
        """Track entities through a text, or through steps that are split already.

        Without entities those worth tracking are found; with `find` they are added to the named.
        """
        return self.track_all([self._build_procedure(text, entities, find=find, id=id)])[0]

    def track_all(
        self,
        procedures: Sequence[Procedure],
        *,
        knowledge_progress: Progress | None = None,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Grid]:
        """Track the entities of many procedures."""
        card = self.card
        grids = predict_grids(
            self.scorer,
            self._build_items(procedures, knowledge_progress),
            settings=self.settings.decoder,
            temperatures=(card.tag_temperature, card.place_temperature),
            progress=progress,
        )
        return [replace(grid, signature=card.signature) for grid in grids]

    def explain(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None = None,
        *,
        find: bool = False,
        id: str = "text",
    ) -> Explanation:
        """Track as `track` does, with a reason for every cell."""
        return self.explain_all([self._build_procedure(text, entities, find=find, id=id)])[0]

    def explain_all(
        self,
        procedures: Sequence[Procedure],
        *,
        knowledge_progress: Progress | None = None,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Explanation]:
        """Track the entities of many procedures, with a reason for every cell."""
        card = self.card
        explanations = predict_explanations(
            self.scorer,
            self._build_items(procedures, knowledge_progress),
            settings=self.settings.decoder,
            temperatures=(card.tag_temperature, card.place_temperature),
            progress=progress,
        )
        return [
            replace(each, grid=replace(each.grid, signature=card.signature))
            for each in explanations
        ]

    def find_probabilities(self, procedures: Sequence[Procedure]) -> Iterator[dict[str, object]]:
        """Give the probability of every tag and place, an entity a time."""
        card = self.card
        items = self._build_items(procedures, None)
        temperatures = (card.tag_temperature, card.place_temperature)
        return predict_probabilities(self.scorer, items, temperatures=temperatures)

    def _build_items(
        self, procedures: Sequence[Procedure], progress: Progress | None
    ) -> list[Item]:
        annotated = annotate_as(self.settings.text, procedures)
        triples = find_triples(
            annotated, self._knowledge, n_threads=self.n_threads, progress=progress
        )
        return build_items(annotated, triples)

    def _build_procedure(
        self, text: str | Sequence[str], entities: Sequence[str] | None, *, find: bool, id: str
    ) -> Procedure:
        if isinstance(text, str):
            procedure = Procedure.from_text(text, entities or (), id=id)
        else:
            steps = tuple(Step(line) for step in text if (line := " ".join(step.split())))
            procedure = Procedure(id, steps, tuple(map(build_entity, entities or ())))
        if not procedure.steps:
            raise KoalaError("The text is empty.")
        if entities is None or find:
            procedure = add_participants([procedure], n_threads=self.n_threads)[0]
        if not procedure.entities and (entities is None or find):
            raise KoalaError("Nothing worth tracking was found in the text; name an entity.")
        if not procedure.entities:
            raise KoalaError("No entities to track; name one or more.")
        return procedure


def add_participants(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[Procedure]:
    """Add the entities worth tracking to those that are named already; the named come first."""
    if not procedures:
        return []
    from koala.participants import find_participants

    found = find_participants(procedures, n_threads=n_threads)
    return [
        replace(procedure, entities=(*procedure.entities, *_choose_new(procedure.entities, names)))
        for procedure, names in zip(procedures, found, strict=True)
    ]


def _choose_new(known: Sequence[Entity], names: Sequence[str]) -> list[Entity]:
    """Build entities of names that no known one has as an alias."""
    taken = {stem_content(alias) for entity in known for alias in entity.aliases}
    new = [build_entity(name) for name in names]
    return [e for e in new if not taken & {stem_content(alias) for alias in e.aliases}]


def load(
    model: str | Path = DEFAULT, *, has_knowledge: bool = True, n_threads: int | None = None
) -> Tracker:
    """Open the bundled network, another bundled one by name, or one in a folder.

    Without knowledge no triples are retrieved, whatever the network was trained with.
    """
    folder = find_model(model)
    network = OnnxNetwork(folder, n_threads=n_threads)
    tokenizer = folder if (folder / TOKENIZER).is_file() else None
    encoder = network.card.read_settings().encoder
    batcher = Batcher(
        tokenizer, has_prefix=encoder.has_prefix, has_list=encoder.has_list, n_kept=_N_KEPT
    )
    reader = Reader(network, batcher)
    return Tracker(reader, network.card, has_knowledge=has_knowledge, n_threads=n_threads)


def join(trackers: Sequence[Tracker]) -> Tracker:
    """Make one tracker of several: their scores are averaged before they are decoded.

    It decodes as the first does, and retrieves triples if any of them reads some.
    """
    first = trackers[0]
    if len(trackers) == 1:
        return first
    settings = first.settings
    readers = [tracker for tracker in trackers if tracker.settings.knowledge.is_used]
    if readers:
        settings = replace(settings, knowledge=readers[0].settings.knowledge)
    cards = [tracker.card for tracker in trackers]
    card = Card(
        "+".join(card.name for card in cards),
        settings.to_toml(),
        tag_temperature=fmean(card.tag_temperature for card in cards),
        place_temperature=fmean(card.place_temperature for card in cards),
        signature="+".join(card.signature for card in cards),
    )
    scorer = Ensemble(tuple(tracker.scorer for tracker in trackers))
    return Tracker(scorer, card, n_threads=first.n_threads)
