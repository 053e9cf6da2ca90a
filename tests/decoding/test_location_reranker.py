"""Truth: sentences in which a reader can see at a glance what is where."""

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
    """What is said of a place at a position, without what is not so."""
    names = ["?", *(candidate.name for candidate in procedure.candidates)]
    features = describe_locations(procedure, entity)[position, names.index(location)]
    return {name: value for name, value in zip(FEATURES, features, strict=True) if value}


@pytest.fixture(scope="module")
def river() -> Procedure:
    return annotated(TEXT, "water", "wave")


def test_every_place_is_described_at_every_position(river):
    shape = (len(river.steps) + 1, len(river.candidates) + 1, len(FEATURES))
    assert describe_locations(river, 0).shape == shape


def test_what_leads_to_a_place_is_read_beside_the_entity(river):
    assert {"here: from", "with the entity: from"} <= describe(river, "lake", 1).keys()
    assert "with the entity: to" in describe(river, "river", 1)
    assert {"here: through", "with the entity: through"} <= describe(river, "valley", 2).keys()
    # The waves are not named in that step.
    assert "here: from" in describe(river, "lake", 1, entity=1)
    assert not any("with the entity" in name for name in describe(river, "lake", 1, entity=1))


def test_before_the_first_step_an_entity_is_where_it_comes_from(river):
    lake = describe(river, "lake", 0)
    assert "before the first step: the entity comes from it" in lake
    assert "before the first step: named with the entity's first mention" in lake
    assert "before the first step: the entity comes from it" not in describe(river, "river", 0)
    assert "the entity comes from it later" not in describe(river, "lake", 1)


def test_a_place_keeps_how_it_was_last_named(river):
    assert {"named before only", "before: from"} <= describe(river, "lake", 3).keys()
    assert {"named later only", "later: through"} & describe(river, "valley", 1).keys() == {
        "named later only"
    }
    assert "named here" not in describe(river, "lake", 2)


def test_sides_of_the_entity(river):
    assert {"behind the entity", "next behind the entity"} <= describe(river, "lake", 1).keys()
    assert "next behind the entity" not in describe(river, "river", 1)
    assert "in front of the entity" in describe(river, "river", 2)


@pytest.mark.parametrize(
    ("entity", "location", "said"),
    [
        ("water", "water", "the entity itself"),
        ("cold; waters", "water", "the entity itself"),
        ("rain water", "water", "the end of its name"),
        ("valley", "narrow valley", "its name with more in front"),
    ],
)
def test_names(entity, location, said):
    assert said in describe(annotated(TEXT, entity), location, 0)


def test_a_place_may_be_another_entity():
    procedure = annotated(TEXT, "water", "river")
    assert "another entity" in describe(procedure, "river", 0, entity=0)
    assert "another entity" not in describe(procedure, "river", 0, entity=1)


def test_part_of_a_longer_place(river):
    assert describe(river, "valley", 0)["inside longer locations"] == 1
    assert "inside longer locations" not in describe(river, "narrow valley", 0)


def test_the_unknown_place(river):
    assert set(describe(river, "?", 0)) == {"unknown", "unknown before the first step"}
    assert set(describe(river, "?", 1)) == {"unknown", "unknown though the step has a location"}
    assert set(describe(river, "?", 4)) == {"unknown"}


def test_a_text_without_places_or_mentions():
    procedure = annotated("It rains.", "snow")
    assert describe_locations(procedure, 0).shape == (
        2,
        1 + len(procedure.candidates),
        len(FEATURES),
    )


def test_without_weights_nothing_changes(river):
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


def test_hints_know_better_than_chance(river):
    """A network that knows nothing: hints alone say where the water is."""
    n_locations = len(river.candidates) + 1
    output = build_output(0, len(river.steps), n_locations)
    output.locations[:] = 0.0
    reranked = load_calibration().rerankers["propara"].rerank(output, river, [0, 1])
    names = ["?", *(candidate.name for candidate in river.candidates)]
    best = [names[number] for number in reranked.location_scores(0).argmax(-1)]
    assert best[:2] == ["lake", "river"]
    assert "water" not in best
