"""Tracker: text → Grid; runs annotation, knowledge retrieval, the network and decoding."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from koala.decoding import Decoding, parse_decoding
from koala.discovery.add import add_entities
from koala.document import Procedure
from koala.document.build import build_entities, build_steps
from koala.errors import KoalaError
from koala.grid import Grid
from koala.grid.attention import Attention
from koala.grid.explanation import Explanation
from koala.inference.attention import find_attention
from koala.inference.calibration import Calibration
from koala.inference.explain import predict_explanations
from koala.inference.fixes import FixedCells, fix_cells
from koala.inference.grounding import find_step_spans
from koala.inference.predict import (
    annotate_with,
    find_triples,
    predict_grids,
    predict_probabilities,
    predict_samples,
    sign_triples,
)
from koala.inference.scoring import Scorer
from koala.inputs.examples import Item, build_items
from koala.knowledge.store import BUNDLED_STORE, Store
from koala.network.card import Card
from koala.settings import KnowledgeSettings
from koala.tasks import PROPARA, find_task
from koala.text.language import is_english

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Progress = Callable[[int, int], None]
Result = TypeVar("Result")


class Tracker:
    """Tracks the entities of procedures with one network or an ensemble."""

    def __init__(
        self,
        scorer: Scorer,
        card: Card,
        *,
        decoding: Decoding = "viterbi",
        has_knowledge: bool = True,
        n_threads: int | None = None,
    ) -> None:
        self.card = card
        self.n_threads = n_threads
        self.scorer = scorer
        self.decoding = decoding
        self.settings = card.read_settings()
        self.task = find_task(self.settings)
        self.calibration = Calibration.from_dict(card.calibration)
        self.has_knowledge = has_knowledge
        self._knowledge = switch_knowledge(self.settings.knowledge, has_knowledge=has_knowledge)

    @property
    def signature(self) -> str:
        """Signature of the tracker's grids: the card's, the decoding if it is not Viterbi, and the
        knowledge store if it is not koala's own.
        """
        signature = self.card.signature
        if self.decoding != "viterbi":
            signature += f"|decoding:{self.decoding}"
        if not self.settings.knowledge.is_used:
            return signature
        origin = sign_store(self._knowledge)
        return signature if origin == _sign_own() else f"{signature}|{origin}"

    def with_decoding(self, decoding: str) -> "Tracker":
        """Give a tracker with the same network and another decoding."""
        wanted = parse_decoding(decoding)
        if wanted == self.decoding:
            return self
        if wanted not in self.task.decodings:
            raise KoalaError(
                f"{self.card.name} does not support the decoding {wanted!r}; choose one of "
                f"{', '.join(self.task.decodings)}."
            )
        return Tracker(
            self.scorer,
            self.card,
            decoding=wanted,
            has_knowledge=self.has_knowledge,
            n_threads=self.n_threads,
        )

    def track(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None = None,
        *,
        find: bool = False,
        id: str = "text",
        question: str = "",
        fixed: FixedCells | None = None,
    ) -> Grid:
        """Track entities through a text, or through a list of steps.

        Without `entities`, those worth tracking are found in the text; with `find`, they are added
        to the given ones. `question` is the question that the text answers: it helps to retrieve
        triples, and some networks read it. `fixed` holds cells that are known to be right, by their
        location, `{("water", 3): "pot"}`, their action, or both; the rest of the grid is decoded
        given them.
        """
        procedure = self._build_procedure(
            text, entities, find=find, id=id, question=question, fixed=fixed
        )
        return self.track_all([procedure])[0]

    async def track_async(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None = None,
        *,
        find: bool = False,
        id: str = "text",
        question: str = "",
        fixed: FixedCells | None = None,
    ) -> Grid:
        """Track as `track` does, off the event loop.

        All texts of a process are tracked one after the other in one thread, because the tagger and
        its caches are not made for several. A cancelled call that has not begun is never run; one
        that has begun runs to its end, and its grid is dropped.
        """
        return await _run_in_worker(
            partial(self.track, text, entities, find=find, id=id, question=question, fixed=fixed)
        )

    async def explain_async(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None = None,
        *,
        find: bool = False,
        id: str = "text",
        question: str = "",
        fixed: FixedCells | None = None,
    ) -> Explanation:
        """Explain as `explain` does, off the event loop, as `track_async` does."""
        return await _run_in_worker(
            partial(self.explain, text, entities, find=find, id=id, question=question, fixed=fixed)
        )

    async def track_all_async(self, procedures: Iterable[Procedure]) -> AsyncIterator[Grid]:
        """Give the grid of each procedure as soon as it is tracked; cancelling stops in between.

        `async for grid in tracker.track_all_async(procedures): …`
        """
        for procedure in procedures:
            (grid,) = await _run_in_worker(partial(self.track_all, [procedure]))
            yield grid

    def track_all(
        self,
        procedures: Sequence[Procedure],
        *,
        knowledge_progress: Progress | None = None,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Grid]:
        """Track the entities of many procedures; without entities a grid is empty."""
        grids = predict_grids(
            self.scorer,
            self._build_items(procedures, knowledge_progress),
            task=self.task,
            decoding=self.decoding,
            calibration=self.calibration,
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
        question: str = "",
        fixed: FixedCells | None = None,
    ) -> Explanation:
        """Track as `track` does, with a reason for every cell."""
        procedure = self._build_procedure(
            text, entities, find=find, id=id, question=question, fixed=fixed
        )
        return self.explain_all([procedure])[0]

    def explain_all(
        self,
        procedures: Sequence[Procedure],
        *,
        knowledge_progress: Progress | None = None,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Explanation]:
        """Track as `track_all` does, with a reason for every cell."""
        explanations = predict_explanations(
            self.scorer,
            self._build_items(procedures, knowledge_progress),
            task=self.task,
            decoding=self.decoding,
            calibration=self.calibration,
            progress=progress,
        )
        signed = iter(
            [replace(e, grid=replace(e.grid, signature=self.signature)) for e in explanations]
        )
        return [
            next(signed) if each.entities else Explanation(self._build_empty(each), ())
            for each in procedures
        ]

    def find_attention(
        self, procedures: Sequence[Procedure], *, location: str | None = None
    ) -> list[Attention]:
        """Give the attention to triples for every entity, of states and of locations.

        Needs a training run; `location` chooses one location candidate in place of the predicted
        ones.
        """
        if not self._knowledge.is_used:
            raise KoalaError(f"{self.card.name} reads no triples, so it has no attention to show.")
        return find_attention(
            self.scorer,
            self._build_items(procedures, None),
            calibration=self.calibration,
            task=self.task,
            decoding=self.decoding,
            location=location,
        )

    def sample_all(
        self,
        procedures: Sequence[Procedure],
        n: int,
        *,
        seed: int = 0,
        progress: Progress = lambda _done, _total: None,
    ) -> list[Grid]:
        """Sample `n` grids of every procedure with entities from the posterior, for distillation
        (`training.extra`). Their ids end in # and a number.
        """
        if self.task is not PROPARA:
            raise KoalaError(
                f"{self.card.name} was trained on Recipes; grids can be sampled only from models "
                "of ProPara or koala's own corpus."
            )
        grids = predict_samples(
            self.scorer,
            self._build_items(procedures, None),
            n,
            calibration=self.calibration,
            seed=seed,
            progress=progress,
        )
        return [replace(grid, signature=f"{self.signature}|samples:{n}") for grid in grids]

    def find_probabilities(self, procedures: Sequence[Procedure]) -> Iterator[dict[str, object]]:
        """Give the probabilities of all tags and locations, one dict per entity."""
        items = self._build_items(procedures, None)
        return predict_probabilities(
            self.scorer, items, task=self.task, calibration=self.calibration
        )

    def find_unmentioned(
        self, text: str | Sequence[str], entities: Sequence[str] | None
    ) -> list[str]:
        """Give the entities that the text never names; predictions for them are guesses."""
        procedure = Procedure("text", build_steps(text), build_entities(entities))
        (annotated,) = annotate_with(self.settings.text, [procedure])
        return [entity.name for entity in annotated.entities if not entity.mentions]

    def _build_items(
        self, procedures: Sequence[Procedure], progress: Progress | None
    ) -> list[Item]:
        some = [procedure for procedure in procedures if procedure.entities]
        if not some:
            return []
        annotated = annotate_with(self.settings.text, some)
        triples = find_triples(
            annotated, self._knowledge, n_threads=self.n_threads, progress=progress
        )
        return build_items(annotated, triples)

    def _build_empty(self, procedure: Procedure) -> Grid:
        texts = tuple(step.text for step in procedure.steps)
        return Grid(procedure.id, texts, (), self.signature, find_step_spans(procedure))

    def find_warnings(
        self, text: str | Sequence[str], entities: Sequence[str] | None = None
    ) -> list[str]:
        """Warn of text that does not look English and of entities that the text never names."""
        warnings = []
        if not is_english(text if isinstance(text, str) else " ".join(text)):
            warnings.append("This does not look like English; koala reads English only.")
        if entities and (unnamed := self.find_unmentioned(text, entities)):
            warnings.append(f"The text never names {', '.join(unnamed)}.")
        return warnings

    def _build_procedure(
        self,
        text: str | Sequence[str],
        entities: Sequence[str] | None,
        *,
        find: bool,
        id: str,
        question: str,
        fixed: FixedCells | None = None,
    ) -> Procedure:
        procedure = Procedure(id, build_steps(text), build_entities(entities), question)
        if entities is None or find:
            procedure = add_entities([procedure], n_threads=self.n_threads)[0]
        if fixed:
            procedure = fix_cells(procedure, fixed)
        if not procedure.entities and (entities is None or find):
            raise KoalaError("No entities worth tracking were found in the text; name one or more.")
        if not procedure.entities:
            raise KoalaError("No entities to track; name one or more.")
        return procedure


def switch_knowledge(settings: KnowledgeSettings, *, has_knowledge: bool) -> KnowledgeSettings:
    """Give the knowledge settings, switched off if `has_knowledge` is false."""
    return replace(settings, is_used=settings.is_used and has_knowledge)


def sign_store(settings: KnowledgeSettings) -> str:
    """Give the signature of the source of triples, `knowledge:none` without one."""
    return f"knowledge:{sign_triples(settings)}"


def _sign_own() -> str:
    return f"knowledge:{Store.open_cached(BUNDLED_STORE).signature}"


async def _run_in_worker(work: Callable[[], Result]) -> Result:
    import asyncio  # slow, and most programs do without it

    return await asyncio.get_running_loop().run_in_executor(_open_worker(), work)


@lru_cache(maxsize=1)
def _open_worker() -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, thread_name_prefix="koala")
