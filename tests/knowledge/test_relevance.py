import numpy as np

from koala.corpora.propara import read_released
from koala.document import Procedure, annotate
from koala.grid import Grid, Row
from koala.grid.states import Action
from koala.knowledge.relevance import VerbSets, count_verbs, label_triples
from koala.knowledge.triple import Triple

VERBS = VerbSets(
    {
        Action.CREATE: frozenset({"form"}),
        Action.MOVE: frozenset({"move"}),
        Action.DESTROY: frozenset({"break"}),
    }
)


def triple(head: str, tail: str) -> Triple:
    return Triple(head, "RelatedTo", tail, 1.0)


def test_labels_of_a_worked_example():
    row = Row.from_locations("cloud", ["-", "deep sea", "air", "air", "-"])
    triples = [
        triple("cloud", "formed from vapor"),
        triple("cloud", "air"),
        triple("cloud", "deep water"),
        triple("cloud", "breaking up"),
        triple("cloud", "deep sea"),
    ]
    relevance = label_triples(row, triples, VERBS)
    assert relevance.states.tolist() == [
        [True, False, False, False, False],  # created
        [False, False, False, False, False],  # moved
        [False, False, False, False, False],  # nothing happens
        [False, False, False, True, False],  # destroyed
    ]
    assert relevance.locations.tolist() == [
        [False, False, False, False, True],  # at the deep sea: both words are needed
        [False, True, False, False, False],
        [False, False, False, False, False],
        [False, False, False, False, False],  # a destroyed entity has no new location
    ]
    assert (relevance.any == (relevance.states | relevance.locations)).all()


def test_an_unknown_location_makes_no_triple_relevant():
    row = Row.from_locations("cloud", ["a", "?"])
    assert not label_triples(row, [triple("cloud", "?")], VERBS).locations.any()


def test_no_triples_give_empty_labels():
    row = Row.from_locations("cloud", ["a", "b"])
    assert label_triples(row, [], VERBS).any.shape == (1, 0)


def test_verbs_are_counted_over_entities_and_steps_without_auxiliaries():
    (procedure,) = annotate([Procedure.from_text("Rain has been forming.\nIt is moving.")])
    rows = tuple(Row.from_locations(name, ["-", "sky", "sea"]) for name in ("rain", "drop", "mist"))
    gold = Grid("1", tuple(step.text for step in procedure.steps), rows)
    verbs = count_verbs([(procedure, gold)], more_than=2).verbs
    assert verbs[Action.CREATE] == {"form"}
    assert verbs[Action.MOVE] == {"move"}
    assert verbs[Action.DESTROY] == frozenset()
    assert count_verbs([(procedure, gold)], more_than=3).verbs[Action.CREATE] == frozenset()


def test_verbs_of_train_include_those_named_in_the_paper(propara):
    examples = read_released(propara / "csv").splits["train"]
    procedures = annotate([example.procedure for example in examples])
    golds = [example.gold for example in examples]
    verbs = count_verbs(zip(procedures, golds, strict=True)).verbs
    assert {"form", "create", "produce"} <= verbs[Action.CREATE]
    assert {"move", "flow", "enter"} <= verbs[Action.MOVE]
    assert {"break", "turn", "die"} <= verbs[Action.DESTROY]
    assert not {"be", "have", "will"} & verbs[Action.MOVE]
    assert np.all([10 < len(found) < 200 for found in verbs.values()])
