"""Sentences from which a reader sees at a glance where everything is."""

import numpy as np
import pytest

from koala.decoding.location_features import FEATURES, describe_locations
from koala.decoding.location_reranker import LocationReranker
from koala.document import Procedure, annotate
from koala.network.output import log_softmax

from .test_viterbi import build_output, load_calibration

TEXT = """Water flows from the lake into the river.
The river carries the water through a narrow valley.
The water reaches the sea.
Waves break."""


def annotated(text: str, *entities: str) -> Procedure:
    (procedure,) = annotate([Procedure.from_text(text, entities)])
    return procedure


def describe(
    procedure: Procedure, location: str, position: int, entity: int = 0
) -> dict[str, float]:
    """Give the features of a location at a position that are not 0."""
    names = ["?", *(candidate.name for candidate in procedure.candidates)]
    features = describe_locations(procedure, entity)[position, names.index(location)]
    return {name: value for name, value in zip(FEATURES, features, strict=True) if value}


@pytest.fixture(scope="module")
def river() -> Procedure:
    return annotated(TEXT, "water", "wave")


def test_every_location_has_features_at_every_position(river):
    shape = (len(river.steps) + 1, len(river.candidates) + 1, len(FEATURES))
    assert describe_locations(river, 0).shape == shape


def test_the_word_in_front_of_a_location_is_a_feature(river):
    assert {"here: from", "with the entity: from"} <= describe(river, "lake", 1).keys()
    assert "with the entity: to" in describe(river, "river", 1)
    assert {"here: through", "with the entity: through"} <= describe(river, "valley", 2).keys()
    # The step does not name the waves.
    assert "here: from" in describe(river, "lake", 1, entity=1)
    assert not any("with the entity" in name for name in describe(river, "lake", 1, entity=1))


def test_where_the_entity_comes_from_is_a_feature_before_the_first_step(river):
    lake = describe(river, "lake", 0)
    assert "before the first step: the entity comes from it" in lake
    assert "before the first step: named with the entity's first mention" in lake
    assert "before the first step: the entity comes from it" not in describe(river, "river", 0)
    assert "the entity comes from it later" not in describe(river, "lake", 1)


def test_the_last_mention_of_a_location_counts_afterwards(river):
    assert {"named before only", "before: from"} <= describe(river, "lake", 3).keys()
    assert {"named later only", "later: through"} & describe(river, "valley", 1).keys() == {
        "named later only"
    }
    assert "named here" not in describe(river, "lake", 2)


def test_the_order_of_location_and_entity(river):
    assert {"behind the entity", "next behind the entity"} <= describe(river, "lake", 1).keys()
    assert "next behind the entity" not in describe(river, "river", 1)
    assert "in front of the entity" in describe(river, "river", 2)


@pytest.mark.parametrize(
    ("entity", "location", "feature"),
    [
        ("water", "water", "the entity itself"),
        ("cold; waters", "water", "the entity itself"),
        ("rain water", "water", "the end of its name"),
        ("valley", "narrow valley", "its name with more in front"),
    ],
)
def test_similar_names_of_location_and_entity(entity, location, feature):
    assert feature in describe(annotated(TEXT, entity), location, 0)


def test_a_location_may_be_another_entity():
    procedure = annotated(TEXT, "water", "river")
    assert "another entity" in describe(procedure, "river", 0, entity=0)
    assert "another entity" not in describe(procedure, "river", 0, entity=1)


def test_a_location_inside_a_longer_one(river):
    assert describe(river, "valley", 0)["inside longer locations"] == 1
    assert "inside longer locations" not in describe(river, "narrow valley", 0)


def test_the_unknown_location(river):
    assert set(describe(river, "?", 0)) == {"unknown", "unknown before the first step"}
    assert set(describe(river, "?", 1)) == {"unknown", "unknown though the step has a location"}
    assert set(describe(river, "?", 4)) == {"unknown"}


def test_a_text_without_locations_or_mentions():
    procedure = annotated("It rains.", "snow")
    assert describe_locations(procedure, 0).shape == (
        2,
        1 + len(procedure.candidates),
        len(FEATURES),
    )


def test_zero_weights_change_nothing(river):
    n_locations = len(river.candidates) + 1
    output = build_output(0, len(river.steps), n_locations)
    none = dict.fromkeys(FEATURES, 0.0)
    reranked = LocationReranker(1.0, none).rerank(output, river, [0, 1])
    for index in (0, 1):
        own, new = output.location_scores(index), reranked.location_scores(index)
        np.testing.assert_allclose(log_softmax(new), log_softmax(own), atol=1e-6)
    # Padding stays padding.
    assert (reranked.locations[:, :, n_locations:] == output.locations[:, :, n_locations:]).all()
    assert reranked.tags is output.tags


def test_the_bundled_reranker_beats_chance(river):
    """With a network that knows nothing, the reranker alone finds the water."""
    n_locations = len(river.candidates) + 1
    output = build_output(0, len(river.steps), n_locations)
    output.locations[:] = 0.0
    reranked = load_calibration().rerankers["propara"].rerank(output, river, [0, 1])
    names = ["?", *(candidate.name for candidate in river.candidates)]
    best = [names[number] for number in reranked.location_scores(0).argmax(-1)]
    assert best[:2] == ["lake", "river"]
    assert "water" not in best
