"""Procedures → triples → scores → grids, samples or probabilities, for any kind of network."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from koala.decoding import Decoding, Names
from koala.decoding.conditional import Fixes
from koala.decoding.location_groups import merge_locations
from koala.decoding.mbr.search import sample_grids
from koala.decoding.recipes import NOWHERE
from koala.document import Procedure, annotate
from koala.grid import Grid, Row
from koala.grid.states import UNKNOWN
from koala.inference.calibration import Calibration
from koala.inference.fixes import add_fixed_candidates, find_item_fixes
from koala.inference.grounding import find_step_spans, ground_rows
from koala.inference.scoring import Scored, Scorer, score_all, score_procedures
from koala.inputs.examples import Item
from koala.knowledge.retrieval import Triples, retrieve_triples
from koala.knowledge.retrieved import (
    choose_retrieved,
    find_retrieved,
    read_retrieved,
    sign_retrieved,
)
from koala.knowledge.store import Store
from koala.network.output import Output
from koala.settings import KnowledgeSettings, TextSettings
from koala.tasks import PROPARA, Task

Progress = Callable[[int, int], None]

_UNCALIBRATED = Calibration()


def annotate_with(settings: TextSettings, procedures: Sequence[Procedure]) -> list[Procedure]:
    """Add words, mentions and location candidates according to a model's settings."""
    annotated = annotate(
        procedures,
        has_parts=settings.mentions == "parts",
        has_phrases=settings.locations == "phrases",
        known_locations=settings.known_locations.split(),
    )
    return list(map(add_fixed_candidates, annotated))


def find_triples(
    procedures: Sequence[Procedure],
    settings: KnowledgeSettings,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Triples:
    """Retrieve triples for every entity; none if the settings do not use knowledge."""
    if not settings.is_used:
        return [tuple(() for _ in procedure.entities) for procedure in procedures]
    if settings.retrieved:
        known = read_retrieved(find_retrieved(settings.retrieved))
        return choose_retrieved(procedures, known, settings.n_triples)
    return retrieve_triples(
        procedures,
        store=settings.store,
        n_triples=settings.n_triples,
        has_fuzzy=settings.has_fuzzy,
        n_threads=n_threads,
        progress=progress,
    )


def sign_triples(settings: KnowledgeSettings) -> str:
    """Give the signature of the source of triples: of a store, of a file, or `none`."""
    if not settings.is_used:
        return "none"
    if settings.retrieved:
        return sign_retrieved(find_retrieved(settings.retrieved))
    return Store.open_cached(settings.store).signature


def predict_grids(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    task: Task = PROPARA,
    decoding: Decoding = "viterbi",
    calibration: Calibration | None = None,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Predict the grid of every procedure; with a calibration, every cell has a confidence."""
    grids: dict[int, Grid] = {}
    n_done = 0
    for number, scored in score_procedures(scorer, items):
        grids[number] = decode_grid(scored, task=task, decoding=decoding, calibration=calibration)
        n_done += len(scored.items)
        progress(n_done, len(items))
    return [grids[number] for number in sorted(grids)]


def decode_grids(
    scored: Iterable[Scored],
    *,
    task: Task = PROPARA,
    decoding: Decoding = "viterbi",
    calibration: Calibration | None = None,
) -> list[Grid]:
    """Decode procedures that have been scored."""
    return [
        decode_grid(each, task=task, decoding=decoding, calibration=calibration) for each in scored
    ]


def decode_grid(
    scored: Scored,
    *,
    task: Task = PROPARA,
    decoding: Decoding = "viterbi",
    calibration: Calibration | None = None,
) -> Grid:
    """Decode one procedure; with a calibration, every cell has a confidence."""
    procedure, items = scored.procedure, scored.items
    known = calibration or _UNCALIBRATED
    output, names, fixes = prepare_output(scored, known)
    entities = [name_entity(item) for item in items]
    start: Decoding = "viterbi" if decoding == "mbr" else decoding
    rows = task.decode(output, entities, names, start, fixes)
    if decoding == "mbr":
        rows = task.decode_mbr(output, rows, names, known.consistency, fixes)
    if calibration is not None:
        marginals = [task.find_marginals(output, n, names, fixes) for n in range(len(rows))]
        rows = [
            Row.from_locations(row.name, row.locations, own.find_confidences(row, names))
            for row, own in zip(rows, marginals, strict=True)
        ]
    rows = [row.with_fixed(own) for row, own in zip(rows, fixes, strict=True)] if fixes else rows
    tracked = [procedure.entities[item.entity] for item in items]
    return _build_grid(procedure, procedure.id, ground_rows(rows, tracked, procedure, names))


def prepare_output(scored: Scored, calibration: Calibration) -> tuple[Output, Names, list[Fixes]]:
    """Give what decoding reads: calibrated scores, the names of the candidates, fixed cells.

    Under koala's annotation convention, a location that the text names in several ways is one
    location; ProPara and Recipes are scored by the exact name.
    """
    output = calibration.apply(scored.output, scored.items)
    names = name_candidates(scored.procedure)
    fixes = find_item_fixes(scored.items, names)
    if scored.procedure.convention == "koala":
        fixed = {fix.location for own in fixes for fix in own.values()}
        kept = {number for number in fixed if number is not None and number != NOWHERE}
        output = merge_locations(output, names, kept)
    return output, names, fixes


def _build_grid(procedure: Procedure, id: str, rows: Sequence[Row]) -> Grid:
    texts = tuple(step.text for step in procedure.steps)
    return Grid(id, texts, tuple(rows), step_spans=find_step_spans(procedure))


def predict_samples(
    scorer: Scorer,
    items: Sequence[Item],
    n: int,
    *,
    calibration: Calibration = _UNCALIBRATED,
    seed: int = 0,
    progress: Progress = lambda _done, _total: None,
) -> list[Grid]:
    """Sample `n` grids of every procedure from the network's posterior.

    A network that is trained on many samples also learns how sure this one was (distillation).
    """
    all_scored = score_all(scorer, items)
    found: list[Grid] = []
    for n_done, scored in enumerate(all_scored, 1):
        procedure = scored.procedure
        sampled = sample_grids(
            calibration.scale(scored.output, procedure),
            [name_entity(item) for item in scored.items],
            name_candidates(procedure),
            n,
            consistency=calibration.consistency,
            seed=seed,
        )
        found += [
            Grid(f"{procedure.id}#{number}", tuple(s.text for s in procedure.steps), tuple(rows))
            for number, rows in enumerate(sampled, 1)
        ]
        progress(n_done, len(all_scored))
    return found


def predict_probabilities(
    scorer: Scorer,
    items: Sequence[Item],
    *,
    task: Task = PROPARA,
    calibration: Calibration = _UNCALIBRATED,
) -> Iterator[dict[str, object]]:
    """Give the probabilities of all tags and locations, one dict per entity."""
    for scored in score_all(scorer, items):
        output, names, fixes = prepare_output(scored, calibration)
        for index, item in enumerate(scored.items):
            marginals = task.find_marginals(output, index, names, fixes)
            yield {
                "id": scored.procedure.id,
                "entity": name_entity(item),
                "tags": marginals.name_tags(),
                "locations": marginals.name_locations(names),
            }


def name_candidates(procedure: Procedure) -> Names:
    """Give the names of the location candidates, in the order of a network's output: `?` first.

    A name is the form in the text; its lemmas under the conventions of ProPara and Recipes, whose
    gold is lemmatised. Candidates with the same form are named by their lemmas, too.
    """
    candidates = procedure.candidates
    if procedure.convention != "koala":
        return (UNKNOWN, *(candidate.name for candidate in candidates))
    times = Counter(candidate.surface for candidate in candidates)
    names = (c.surface if times[c.surface] == 1 else c.name for c in candidates)
    return (UNKNOWN, *names)


def name_entity(item: Item) -> str:
    """Give the name of an item's entity."""
    return item.procedure.entities[item.entity].name
