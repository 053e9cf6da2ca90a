"""Training data: a corpus as items with triples, gold rows, relevance labels and annotators."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from koala.corpora import Corpus, Example
from koala.corpora.annotators import NOT_ANNOTATED
from koala.corpora.naming import name_as_candidates
from koala.document import Candidate, Procedure, Step
from koala.document.candidates import find_candidates
from koala.document.mentions import find_mentions
from koala.errors import KoalaError
from koala.grid import Grid, Row
from koala.grid.states import ABSENT, UNKNOWN
from koala.inference.predict import annotate_with, find_triples
from koala.inputs.examples import STAYS, Item, Participation, build_items
from koala.knowledge.relevance import Relevance, VerbSets, count_verbs, label_triples
from koala.knowledge.retrieval import Triples
from koala.settings import KnowledgeSettings, Settings
from koala.text.nlp import analyze

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Items to train on, and items to evaluate on."""

    train: tuple[Item, ...]
    dev: tuple[Item, ...]
    dev_gold: dict[str, Grid]
    """Gold grids of dev, by the id of the procedure."""
    extra: tuple[Item, ...] = ()
    """Items of extra training texts; every epoch takes a random sample of them."""


def build_training_data(
    corpus: Corpus,
    settings: Settings,
    *,
    extra: Sequence[Example] = (),
    progress: Progress | None = None,
) -> TrainingData:
    """Build items from the train and dev splits of a corpus and from extra examples.

    Verbs for the relevance labels are counted on train only; gold locations are added to the
    candidates of training texts only.
    """
    train, dev = (_with_gold(corpus.take(split)) for split in ("train", "dev"))
    training = settings.training
    texts = [example.procedure for example in (*train, *dev, *_with_gold(extra))]
    procedures, triples = _read_texts(texts, settings, progress)
    n, end = len(train), len(train) + len(dev)
    train, dev, further = (
        name_as_candidates(examples, own)
        for examples, own in (
            (train, procedures[:n]),
            (dev, procedures[n:end]),
            (extra, procedures[end:]),
        )
    )
    learned, others = procedures[:n], procedures[end:]
    if training.adds_gold_locations:
        learned = add_gold_candidates(learned, [example.gold for example in train])
        others = add_gold_candidates(others, [example.gold for example in further])
    verbs = count_verbs((p, e.gold) for p, e in zip(procedures, train, strict=False) if e.gold)
    has_participation = settings.decoder.tags == "participation"
    own = _add_gold(learned, train, triples[:n], verbs, has_participation=has_participation)
    if training.annotators:
        own = add_annotators(own, train)
    return TrainingData(
        train=own,
        dev=_add_gold(
            procedures[n:end], dev, triples[n:end], verbs, has_participation=has_participation
        ),
        # As the corpus wrote it: decoded grids name locations as the text does, too.
        dev_gold={e.procedure.id: e.gold for e in corpus.take("dev") if e.gold},
        extra=_add_gold(others, further, triples[end:], verbs, has_participation=has_participation),
    )


def _read_texts(
    texts: Sequence[Procedure], settings: Settings, progress: Progress | None
) -> tuple[list[Procedure], Triples]:
    """Annotate texts and retrieve their triples; texts that differ only in id are done once."""
    distinct: dict[Procedure, int] = {}
    numbers = [distinct.setdefault(replace(text, id=""), len(distinct)) for text in texts]
    annotated = annotate_with(settings.text, list(distinct))
    procedures = [
        replace(annotated[number], id=text.id) for number, text in zip(numbers, texts, strict=True)
    ]
    if settings.knowledge.is_used and settings.knowledge.retrieved:
        # The file knows procedures by their ids.
        return procedures, _read_retrieved(procedures, settings.knowledge)
    triples = find_triples(annotated, settings.knowledge, progress=progress)
    return procedures, [triples[number] for number in numbers]


def _read_retrieved(procedures: Sequence[Procedure], settings: KnowledgeSettings) -> Triples:
    triples = find_triples(procedures, settings)
    if not any(own for groups in triples for own in groups):
        raise KoalaError(
            f"{settings.retrieved} has no triples for any entity of these procedures. Expected "
            "their ids and entities; give the file that was made for this corpus."
        )
    return triples


def _with_gold(examples: Sequence[Example]) -> Sequence[Example]:
    unanswered = next((example for example in examples if example.gold is None), None)
    if unanswered is not None:
        raise KoalaError(
            f"Procedure {unanswered.procedure.id} has no gold grid. Training needs one for every "
            "procedure of train and dev and of extra texts."
        )
    return examples


def _add_gold(
    procedures: Sequence[Procedure],
    examples: Sequence[Example],
    triples: Triples,
    verbs: VerbSets,
    *,
    has_participation: bool,
) -> tuple[Item, ...]:
    """Build items with their gold rows, relevance labels and participation."""
    gold = [row for example in examples if example.gold for row in example.gold.rows]
    participation = [
        own
        for example in examples
        for own in _find_participation(example, has_participation=has_participation)
    ]
    return tuple(
        replace(item, gold=row, relevance=_label(row, item, verbs), participation=own)
        for item, row, own in zip(
            build_items(procedures, triples), gold, participation, strict=True
        )
    )


def _find_participation(
    example: Example, *, has_participation: bool
) -> Sequence[Participation | None]:
    """Give for each entity the steps that use it and their locations.

    Gives None for each entity if the network does not predict participation.
    """
    if not has_participation:
        return [None] * len(example.procedure.entities)
    if example.participation is None or example.gold is None:
        raise KoalaError(
            f"Procedure {example.procedure.id}: the corpus does not say which steps use an entity. "
            'Recipes does ("exist"); for other corpora set decoder.tags = "changes".'
        )
    rows = [row.locations for row in example.gold.rows]
    locations = tuple(
        find_step_locations(
            [
                (row[step], row[step + 1])
                for row, used in zip(rows, example.participation, strict=True)
                if used[step]
            ]
        )
        for step in range(len(example.gold.steps))
    )
    return [Participation(used, locations) for used in example.participation]


def find_step_locations(used: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Give the locations that count as right for a step of a recipe.

    `used` has the location before and after the step of each ingredient that it uses. The answer is
    where ingredients moved to; else `?` if one was taken out of a known location; else STAYS, and
    if all of them stay in one known location, that location, too.
    """
    came_to = {after for before, after in used if after != before}
    named = came_to - {UNKNOWN}
    if named:
        return frozenset(named)
    if any(before not in (ABSENT, UNKNOWN) and after == UNKNOWN for before, after in used):
        return frozenset({UNKNOWN})
    locations = {after for _, after in used}
    if came_to or len(locations) != 1 or locations == {UNKNOWN}:
        return frozenset({STAYS})
    return frozenset({STAYS, *locations})


def add_annotators(items: Sequence[Item], examples: Sequence[Example]) -> tuple[Item, ...]:
    """Add the rows of single annotators to each entity, with locations named like candidates.

    All items get the same number of annotators, so that every batch weighs them alike; gold
    replaces a missing one.
    """
    if not any(example.annotators for example in examples):
        raise KoalaError(
            "training.annotators needs the labels of single annotators, and the corpus has none. "
            "Put the published labels (sentence-labels/) beside it, or set it to 0."
        )
    annotated = [
        tuple(grid.rows[number] for grid in example.annotators)
        for example in examples
        for number in range(len(example.procedure.entities))
    ]
    locations = {location for rows in annotated for row in rows for location in row.locations}
    phrases = sorted(locations - {ABSENT, UNKNOWN, NOT_ANNOTATED})
    names_in = {
        phrase: [candidate.name for candidate in find_candidates([Step(phrase, words=text.words)])]
        for phrase, text in zip(phrases, analyze(phrases), strict=True)
    }
    n = max(map(len, annotated))
    with_annotators = []
    for item, rows in zip(items, annotated, strict=True):
        named = [_name_as_candidates(row, item, names_in) for row in rows]
        missing = [item.gold] * (n - len(named)) if item.gold else []
        with_annotators.append(replace(item, annotators=(*named, *missing)))
    return tuple(with_annotators)


def _name_as_candidates(row: Row, item: Item, names_in: Mapping[str, Sequence[str]]) -> Row:
    """Rename each location to the first candidate that it names: "in the lake" becomes "lake".

    `names_in` gives the candidate names found in each phrase.
    """
    steps, known = item.procedure.steps, {}
    for candidate in item.procedure.candidates:
        # The wording of the text counts, too: the tagger takes "leaves" alone for a verb.
        for span in candidate.mentions:
            words = steps[span.step].words[span.start : span.end]
            known[" ".join(word.text.lower() for word in words)] = candidate.name
    known |= {candidate.name: candidate.name for candidate in item.procedure.candidates}

    def named(location: str) -> str:
        names = (location, *names_in.get(location, ()))
        return next((known[name] for name in names if name in known), location)

    return Row.from_locations(row.name, [named(location) for location in row.locations])


def _label(gold: Row, item: Item, verbs: VerbSets) -> Relevance | None:
    return label_triples(gold, item.triples, verbs) if item.triples else None


def add_gold_candidates(
    procedures: Sequence[Procedure], grids: Sequence[Grid | None]
) -> list[Procedure]:
    """Add gold locations that are not yet candidates; for training only, never for prediction."""
    missing = [_find_missing(*pair) for pair in zip(procedures, grids, strict=True)]
    names = sorted({name for each in missing for name in each})
    words = dict(zip(names, (found.words for found in analyze(names)), strict=True))
    return [
        replace(
            procedure,
            candidates=procedure.candidates
            + tuple(
                Candidate(name, tuple(find_mentions(words[name], procedure.steps))) for name in each
            ),
        )
        for procedure, each in zip(procedures, missing, strict=True)
    ]


def _find_missing(procedure: Procedure, gold: Grid | None) -> list[str]:
    """Give the gold locations that are not yet candidates, in order."""
    known = {candidate.name for candidate in procedure.candidates} | {ABSENT, UNKNOWN}
    rows = gold.rows if gold else ()
    locations = dict.fromkeys(location for row in rows for location in row.locations)
    return [location for location in locations if location not in known]
