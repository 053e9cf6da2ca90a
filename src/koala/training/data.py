"""Corpus → items: annotated procedures, retrieved triples, gold rows and relevance labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from koala.corpora import Corpus, Example
from koala.corpora.annotators import UNSAID
from koala.document import Candidate, Procedure, Step
from koala.document.candidates import find_candidates, write_span
from koala.document.mentions import find_mentions
from koala.errors import KoalaError
from koala.grid import Grid, Row
from koala.grid.states import ABSENT, UNKNOWN
from koala.inference.predict import annotate_as, find_triples
from koala.inputs.examples import STAYS, Item, Participation, build_items
from koala.knowledge.relevance import Relevance, VerbSets, count_verbs, label_triples
from koala.knowledge.retrieval import Triples
from koala.settings import Settings
from koala.text.nlp import analyze, stem

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Items to learn from, and examples to choose by."""

    train: tuple[Item, ...]
    dev: tuple[Item, ...]
    dev_gold: dict[str, Grid]
    extra: tuple[Item, ...] = ()
    """Items of further texts, from which every epoch draws a sample."""


def build_training_data(
    corpus: Corpus,
    settings: Settings,
    *,
    extra: Sequence[Example] = (),
    progress: Progress | None = None,
) -> TrainingData:
    """Read a corpus for training: verbs are counted, and gold candidates added, on train only."""
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
        # As it was written: decoded grids name locations as the text does, too.
        dev_gold={e.procedure.id: e.gold for e in corpus.take("dev") if e.gold},
        extra=_add_gold(others, further, triples[end:], verbs, has_participation=has_participation),
    )


def _read_texts(
    texts: Sequence[Procedure], settings: Settings, progress: Progress | None
) -> tuple[list[Procedure], Triples]:
    """Annotate texts and retrieve their triples, once for those that come again under other ids."""
    known: dict[Procedure, int] = {}
    numbers = [known.setdefault(replace(text, id=""), len(known)) for text in texts]
    annotated = annotate_as(settings.text, list(known))
    triples = find_triples(annotated, settings.knowledge, progress=progress)
    procedures = [
        replace(annotated[number], id=text.id) for number, text in zip(numbers, texts, strict=True)
    ]
    return procedures, [triples[number] for number in numbers]


def _with_gold(examples: Sequence[Example]) -> Sequence[Example]:
    bare = next((example for example in examples if example.gold is None), None)
    if bare is not None:
        raise KoalaError(f"Procedure {bare.procedure.id} has no answers to learn from.")
    return examples


def _add_gold(
    procedures: Sequence[Procedure],
    examples: Sequence[Example],
    triples: Triples,
    verbs: VerbSets,
    *,
    has_participation: bool,
) -> tuple[Item, ...]:
    """Build items that know what is right, and which triples say so."""
    gold = [row for example in examples if example.gold for row in example.gold.rows]
    participation = [
        used
        for example in examples
        for used in _find_participation(example, has_participation=has_participation)
    ]
    return tuple(
        replace(item, gold=row, relevance=_label(row, item, verbs), participation=used)
        for item, row, used in zip(
            build_items(procedures, triples), gold, participation, strict=True
        )
    )


def _find_participation(
    example: Example, *, has_participation: bool
) -> Sequence[Participation | None]:
    """Give which steps use each entity and where they lead, where a network is to say so."""
    if not has_participation:
        return [None] * len(example.procedure.entities)
    if example.takes_part is None or example.gold is None:
        raise KoalaError(
            f"Procedure {example.procedure.id}: nothing says which steps use an entity. "
            'Recipes do ("exist"); for other texts set decoder.tags to "changes".'
        )
    rows = [row.locations for row in example.gold.rows]
    locations = tuple(
        find_step_locations(
            [
                (row[step], row[step + 1])
                for row, used in zip(rows, example.takes_part, strict=True)
                if used[step]
            ]
        )
        for step in range(len(example.gold.steps))
    )
    return [Participation(used, locations) for used in example.takes_part]


def find_step_locations(used: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Find what the place of a step of a recipe may be, from where all it uses was and is.

    One place for all; or somewhere (`?`), where something was taken out; else none, and where all
    that is used stays in one place, that may as well be the step's.
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
    """Add what single annotators said of each entity, with places called as candidates are.

    All have as many, so that no batch weighs them otherwise than another: where one is missing,
    gold stands in.
    """
    if not any(example.annotators for example in examples):
        raise KoalaError(
            "training.annotators asks for what single annotators said; the corpus has none. Put "
            "the published labels (sentence-labels/) beside it, or set it to 0."
        )
    said = [
        tuple(grid.rows[number] for grid in example.annotators)
        for example in examples
        for number in range(len(example.procedure.entities))
    ]
    locations = {location for rows in said for row in rows for location in row.locations}
    phrases = sorted(locations - {ABSENT, UNKNOWN, UNSAID})
    heard = {
        phrase: [candidate.name for candidate in find_candidates([Step(phrase, words=text.words)])]
        for phrase, text in zip(phrases, analyze(phrases), strict=True)
    }
    n = max(map(len, said))
    with_annotators = []
    for item, rows in zip(items, said, strict=True):
        named = [_name_as_candidates(row, item, heard) for row in rows]
        missing = [item.gold] * (n - len(named)) if item.gold else []
        with_annotators.append(replace(item, annotators=(*named, *missing)))
    return tuple(with_annotators)


def _name_as_candidates(row: Row, item: Item, heard: Mapping[str, Sequence[str]]) -> Row:
    """Call each place as the candidate is called that it names first: "in the lake" is "lake"."""
    steps, known = item.procedure.steps, {}
    for candidate in item.procedure.candidates:
        # As it stands in the text, too: the tagger takes "leaves" alone for a verb.
        for span in candidate.mentions:
            words = steps[span.step].words[span.start : span.end]
            known[" ".join(word.text.lower() for word in words)] = candidate.name
    known |= {candidate.name: candidate.name for candidate in item.procedure.candidates}

    def named(location: str) -> str:
        names = (location, *heard.get(location, ()))
        return next((known[name] for name in names if name in known), location)

    return Row.from_locations(row.name, [named(location) for location in row.locations])


def name_as_candidates(
    examples: Sequence[Example], procedures: Sequence[Procedure]
) -> list[Example]:
    """Call the gold locations of koala's own corpus as the candidates are called.

    The corpus writes a location as the text does ("drying cabinets"), a candidate's name is in
    lemmas ("dry cabinet"). Grids in ProPara's convention are in lemmas already.
    """
    return [
        replace(example, gold=_rename(example.gold, find_written_names(procedure)))
        if example.gold is not None and procedure.convention == "koala"
        else example
        for example, procedure in zip(examples, procedures, strict=True)
    ]


def find_written_names(procedure: Procedure) -> dict[str, str]:
    """Give the name of every candidate by how the text writes it, letters, digits and stems."""
    names: dict[str, str] = {}
    for key in (squeeze, _squeeze_stems):
        for candidate in procedure.candidates:
            for span in candidate.mentions:
                names.setdefault(key(write_span(procedure.steps, span)), candidate.name)
            names.setdefault(key(candidate.name), candidate.name)
    return names


def squeeze(phrase: str) -> str:
    """Leave only letters and digits: "Round-bottom flask" is "roundbottomflask"."""
    return "".join(letter for letter in phrase.lower() if letter.isalnum())


def _squeeze_stems(phrase: str) -> str:
    return "".join(stem(squeeze(word)) for word in phrase.replace("-", " ").split())


def _rename(grid: Grid, names: Mapping[str, str]) -> Grid:
    def named(location: str) -> str:
        if location in (ABSENT, UNKNOWN):
            return location
        return names.get(squeeze(location)) or names.get(_squeeze_stems(location)) or location

    rows = tuple(
        Row.from_locations(row.name, [named(location) for location in row.locations])
        for row in grid.rows
    )
    return replace(grid, rows=rows)


def _label(gold: Row, item: Item, verbs: VerbSets) -> Relevance | None:
    return label_triples(gold, item.triples, verbs) if item.triples else None


def add_gold_candidates(
    procedures: Sequence[Procedure], grids: Sequence[Grid | None]
) -> list[Procedure]:
    """Add the gold places that are no candidates; training only, never to predict."""
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
    """Give the gold places that are no candidates, in order."""
    known = {candidate.name for candidate in procedure.candidates} | {ABSENT, UNKNOWN}
    rows = gold.rows if gold else ()
    locations = dict.fromkeys(location for row in rows for location in row.locations)
    return [location for location in locations if location not in known]
