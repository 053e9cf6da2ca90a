from dataclasses import replace

import pytest

from koala.corpora import Corpus, Example, read_corpus
from koala.document import CONVENTIONS, Entity, Procedure, Step
from koala.errors import KoalaError
from koala.grid import Grid, Row
from koala.inputs.examples import Item
from koala.training.augmentation import hide_questions
from koala.training.data import build_training_data

from .. import tiny


def with_annotators(settings):
    return replace(settings, training=replace(settings.training, annotators=0.5))


def test_missing_annotators_are_refused(settings):
    with pytest.raises(KoalaError, match="sentence-labels"):
        build_training_data(tiny.build_corpus(), with_annotators(settings))


def test_locations_of_annotators_get_the_names_of_candidates(settings, propara):
    """The first annotator of paragraph 4 writes "in sediment" where gold has "sediment"."""
    corpus = read_corpus(propara)
    few = tuple(e for e in corpus.splits["dev"] if e.procedure.id == "4")
    corpus = replace(corpus, splits={"train": few, "dev": few})
    data = build_training_data(corpus, with_annotators(settings))
    plants = next(i for i in data.train if i.gold.name == "plants")
    assert plants.annotators[0].locations[2] == "sediment" == plants.gold.locations[2]
    assert len({len(item.annotators) for item in data.train}) == 1
    assert not any(item.annotators for item in data.dev)
    plain = build_training_data(corpus, settings)
    assert not any(item.annotators for item in plain.train)


def test_gold_locations_get_the_names_of_candidates(settings):
    """Koala's own corpus writes locations as texts do, while candidates are in lemmas."""
    steps = ("Hang the sheets in the drying cabinets.", "Pour it into the Round-bottom flask.")
    cells = ["?", "drying cabinet", "round-bottom flasks"]
    gold = Grid("1", steps, (Row.from_locations("sheets", cells),))
    procedure = Procedure("1", tuple(map(Step, steps)), (Entity("sheets"),))
    example = Example(procedure, gold)
    corpus = Corpus("propara", {"train": (example,), "dev": (example,)})
    data = build_training_data(corpus, settings)
    (item,) = data.train
    names = {candidate.name for candidate in item.procedure.candidates}
    assert set(item.gold.locations[1:]) <= names
    # The grids that are scored keep the corpus's spelling.
    assert data.dev_gold["1"] == gold


def test_questions_of_koalas_own_corpus_are_always_hidden():
    steps = (Step("Water boils."),)
    texts = [Procedure("a", steps, (Entity("water"),), "Why?", convention=c) for c in CONVENTIONS]
    items = [Item(procedure, 0) for procedure in texts]
    shown = [item.procedure.question for item in hide_questions(items, 0.0, seed=0)]
    assert dict(zip(CONVENTIONS, shown, strict=True)) == {
        "koala": "",
        "propara": "Why?",
        "recipes": "Why?",
    }
