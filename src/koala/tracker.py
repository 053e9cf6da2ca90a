"""Tracker: text in, Grid out; joins annotation, knowledge, network and decoding."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from koala.batch import Batcher
from koala.decoding import Decoding
from koala.document import Entity, Procedure, Step, build_entity, check_text
from koala.errors import KoalaError
from koala.explanation import Explanation
from koala.grid import Grid
from koala.hints import Reranker
from koala.items import Item, build_items
from koala.knowledge.store import PACK, Store
from koala.prediction import (
    Calibration,
    Cooled,
    Ensemble,
    Reader,
    Scorer,
    annotate_as,
    draw_grids,
    find_triples,
    predict_explanations,
    predict_grids,
    predict_probabilities,
)
from koala.runtime.files import TOKENIZER, Card
from koala.runtime.models import DEFAULT, find_model
from koala.runtime.network import OnnxNetwork
from koala.settings import KnowledgeSettings
from koala.text import is_english, stem_content

Progress = Callable[[int, int], None]

_DECODING = "|decoding:"
_NO_KNOWLEDGE = "knowledge:none"

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
        self.has_knowledge = has_knowledge
        self._rerankers = {
            convention: Reranker.from_dict(values) for convention, values in card.rerankers.items()
        }
        self._knowledge = restrict_knowledge(self.settings.knowledge, has_knowledge=has_knowledge)

    @property
    def temperatures(self) -> Calibration:
        """Of tags and places, as the card has them."""
        return self.card.calibration

    @property
    def signature(self) -> str:
        """What stands in the grids: the card's, and where triples are from, if not koala's own.

        Without those that a network was trained with, or with others, other grids come out.
        """
        if not self.settings.knowledge.is_used:
            return self.card.signature
        origin = sign_store(self._knowledge)
        return self.card.signature if origin == _sign_own() else f"{self.card.signature}|{origin}"

    def decode_as(self, decoding: Decoding) -> "Tracker":
        """Give a tracker that makes its grids of the same scores in another way, and says so."""
        own = self.settings.decoder
        if decoding == own.decoding:
            return self
        has_score = decoding != "expected" or self.settings.has_expected
        if not (has_score and own.can_decode(decoding)):
            raise KoalaError(
                f"{self.card.name} was not made for {decoding} decoding. Leave it out: its own "
                f"is {own.decoding}."
            )
        settings = replace(self.settings, decoder=replace(own, decoding=decoding))
        card = replace(
            self.card,
            settings=settings.to_toml(),
            signature=f"{self.card.signature.split(_DECODING)[0]}{_DECODING}{decoding}",
        )
        return Tracker(
            self.scorer, card, has_knowledge=self.has_knowledge, n_threads=self.n_threads
        )

    def track(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None = None,
        *,
        find: bool = False,
        id: str = "text",
        prompt: str = "",
    ) -> Grid:
        """Track entities through a text, or through steps that are split already.

        Without entities those worth tracking are found; with `find` they are added to the named.
        The prompt is the question that the text answers; it helps to find triples, and some
        networks read it.
        """
        procedure = self._build_procedure(text, entities, find=find, id=id, prompt=prompt)
        return self.track_all([procedure])[0]

    def track_all(
        self,
        procedures: Sequence[Procedure],
        *,
        knowledge_progress: Progress | None = None,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Grid]:
        """Track the entities of many procedures; one that has none has an empty grid."""
        grids = predict_grids(
            self.scorer,
            self._build_items(procedures, knowledge_progress),
            settings=self.settings.decoder,
            temperatures=self.temperatures,
            rerankers=self._rerankers,
            progress=progress,
        )
        signed = iter([replace(grid, signature=self.signature) for grid in grids])
        return [next(signed) if each.entities else self._build_empty(each) for each in procedures]

    def explain(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None = None,
        *,
        find: bool = False,
        id: str = "text",
        prompt: str = "",
    ) -> Explanation:
        """Track as `track` does, with a reason for every cell."""
        procedure = self._build_procedure(text, entities, find=find, id=id, prompt=prompt)
        return self.explain_all([procedure])[0]

    def explain_all(
        self,
        procedures: Sequence[Procedure],
        *,
        knowledge_progress: Progress | None = None,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Explanation]:
        """Track the entities of many procedures, as `track_all`, with a reason for every cell."""
        explanations = predict_explanations(
            self.scorer,
            self._build_items(procedures, knowledge_progress),
            settings=self.settings.decoder,
            temperatures=self.temperatures,
            rerankers=self._rerankers,
            progress=progress,
        )
        signed = iter(
            [replace(e, grid=replace(e.grid, signature=self.signature)) for e in explanations]
        )
        return [
            next(signed) if each.entities else Explanation(self._build_empty(each), ())
            for each in procedures
        ]

    def draw_all(
        self,
        procedures: Sequence[Procedure],
        n: int,
        *,
        seed: int = 0,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Grid]:
        """Draw `n` grids of every procedure that has entities, as often as each may be true.

        Their ids end in # and a number. For another network to learn from (`training.extra`).
        """
        if self.settings.decoder.tags == "uses":
            raise KoalaError(
                f"{self.card.name} says which steps use an ingredient; grids can be drawn only "
                "from models that say what changes."
            )
        grids = draw_grids(
            self.scorer,
            self._build_items(procedures, None),
            n,
            temperatures=self.temperatures,
            seed=seed,
            progress=progress,
        )
        return [replace(grid, signature=f"{self.signature}|drawn:{n}") for grid in grids]

    def find_probabilities(self, procedures: Sequence[Procedure]) -> Iterator[dict[str, object]]:
        """Give the probability of every tag and place, an entity a time."""
        items = self._build_items(procedures, None)
        return predict_probabilities(self.scorer, items, temperatures=self.temperatures)

    def find_unnamed(self, text: str | Sequence[str], entities: Sequence[str] | None) -> list[str]:
        """Give those of the entities that the text never names: what is said of them is a guess."""
        procedure = Procedure("text", build_steps(text), build_entities(entities))
        (annotated,) = annotate_as(self.settings.text, [procedure])
        return [entity.name for entity in annotated.entities if not entity.mentions]

    def _build_items(
        self, procedures: Sequence[Procedure], progress: Progress | None
    ) -> list[Item]:
        some = [procedure for procedure in procedures if procedure.entities]
        if not some:
            return []
        annotated = annotate_as(self.settings.text, some)
        triples = find_triples(
            annotated, self._knowledge, n_threads=self.n_threads, progress=progress
        )
        return build_items(annotated, triples)

    def _build_empty(self, procedure: Procedure) -> Grid:
        texts = tuple(step.text for step in procedure.steps)
        return Grid(procedure.id, texts, (), self.signature)

    def find_warnings(
        self, text: str | Sequence[str], entities: Sequence[str] | None = None
    ) -> list[str]:
        """Say what may not be meant so: another language, entities that the text never names."""
        warnings = []
        if not is_english(text if isinstance(text, str) else " ".join(text)):
            warnings.append("This does not look like English; koala reads English only.")
        if entities and (unnamed := self.find_unnamed(text, entities)):
            warnings.append(f"The text never names {', '.join(unnamed)}.")
        return warnings

    def _build_procedure(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None,
        *,
        find: bool,
        id: str,
        prompt: str,
    ) -> Procedure:
        procedure = Procedure(id, build_steps(text), build_entities(entities), prompt)
        if entities is None or find:
            procedure = add_participants([procedure], n_threads=self.n_threads)[0]
        if not procedure.entities and (entities is None or find):
            raise KoalaError("Nothing worth tracking was found in the text; name an entity.")
        if not procedure.entities:
            raise KoalaError("No entities to track; name one or more.")
        return procedure


def build_entities(names: Sequence[str] | None) -> tuple[Entity, ...]:
    """Build entities of their names."""
    if isinstance(names, str):
        raise KoalaError(f"entities is {names!r}; a list of names was expected: [{names!r}].")
    return tuple(map(build_entity, names or ()))


def build_steps(content: str | Sequence[str]) -> tuple[Step, ...]:
    """Split a text into steps; of steps that are split already, take those that say something.

    >>> [step.text for step in build_steps(["Water  boils.", " ", "Steam rises."])]
    ['Water boils.', 'Steam rises.']
    """
    for part in (content,) if isinstance(content, str) else content:
        check_text(part)
    if isinstance(content, str):
        return Procedure.from_text(content).steps
    steps = tuple(Step(line) for step in content if (line := " ".join(step.split())))
    if not steps:
        raise KoalaError("The text is empty: no step says anything.")
    return steps


def find_missing(
    procedures: Sequence[Procedure], *, n_threads: int | None = None
) -> list[Procedure]:
    """Find the entities worth tracking of procedures that name none; there may be none, still."""
    bare = [procedure for procedure in procedures if not procedure.entities]
    found = iter(add_participants(bare, n_threads=n_threads))
    return [procedure if procedure.entities else next(found) for procedure in procedures]


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


def restrict_knowledge(settings: KnowledgeSettings, *, has_knowledge: bool) -> KnowledgeSettings:
    """Give the settings of what is retrieved: nothing, if knowledge is not wanted."""
    return replace(settings, is_used=settings.is_used and has_knowledge)


def sign_store(settings: KnowledgeSettings) -> str:
    """Say where triples come from: the signature of the store, which its file holds, or `none`."""
    if not settings.is_used:
        return _NO_KNOWLEDGE
    return f"knowledge:{Store.keep_open(settings.store).signature}"


def _sign_own() -> str:
    return f"knowledge:{Store.keep_open(PACK).signature}"


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
        tokenizer,
        has_prefix=encoder.has_prefix,
        has_list=encoder.has_list,
        has_prompt=encoder.has_prompt,
        n_kept=_N_KEPT,
    )
    reader = Reader(network, batcher)
    return Tracker(reader, network.card, has_knowledge=has_knowledge, n_threads=n_threads)


def join(trackers: Sequence[Tracker]) -> Tracker:
    """Make one tracker of several: their scores, under temperatures of their own, are averaged
    before they are decoded.

    It decodes as the first does, and retrieves triples if any of them reads some.
    """
    first = trackers[0]
    if len(trackers) == 1:
        return first
    settings = first.settings
    for other in (tracker.settings for tracker in trackers):
        if (other.corpus, other.text) != (settings.corpus, settings.text):
            names = " and ".join(tracker.card.name for tracker in trackers)
            raise KoalaError(f"{names} read texts differently; their scores cannot be averaged.")
    readers = [tracker for tracker in trackers if tracker.settings.knowledge.is_used]
    if readers:
        settings = replace(settings, knowledge=readers[0].settings.knowledge)
    cards = [tracker.card for tracker in trackers]
    card = Card(
        "+".join(card.name for card in cards),
        settings.to_toml(),
        signature="+".join(card.signature for card in cards),
        rerankers=first.card.rerankers,
    )
    scorer = Ensemble(tuple(Cooled(each.scorer, each.temperatures) for each in trackers))
    has_knowledge = all(tracker.has_knowledge for tracker in trackers)
    return Tracker(scorer, card, has_knowledge=has_knowledge, n_threads=first.n_threads)
