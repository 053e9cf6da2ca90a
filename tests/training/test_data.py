from dataclasses import replace

import pytest

from koala.corpora import read_corpus
from koala.errors import KoalaError
from koala.training.data import build_training_data

from .. import tiny


def with_annotators(settings):
    return replace(settings, training=replace(settings.training, annotators=0.5))


def test_annotators_that_are_not_here_are_asked_for(settings):
    with pytest.raises(KoalaError, match="sentence-labels"):
        build_training_data(tiny.build_corpus(), with_annotators(settings))


def test_places_of_annotators_are_called_as_candidates(settings, propara):
    """By "in sediment" the first annotator of paragraph 4 means what gold calls sediment."""
    corpus = read_corpus(propara)
    few = tuple(e for e in corpus.splits["dev"] if e.procedure.id == "4")
    corpus = replace(corpus, splits={"train": few, "dev": few})
    data = build_training_data(corpus, with_annotators(settings))
    plants = next(i for i in data.train if i.gold.name == "plants")
    assert plants.annotators[0].locations[2] == "sediment" == plants.gold.locations[2]
    assert len({len(item.annotators) for item in data.train}) == 1
    assert not any(item.annotators for item in data.dev)
    bare = build_training_data(corpus, settings)
    assert not any(item.annotators for item in bare.train)
