"""Copies of texts whose answers stay true."""

import random

from koala.corpora import Example, read_corpus
from koala.document import Entity, Procedure, Step, annotate
from koala.grid import Grid, Row
from koala.text import analyze
from koala.training.augmentation import drop_steps, make_copies, rename

from .. import tiny

OIL = tiny.build_corpus().splits["train"][1]


def words_of(example):
    return [found.words for found in analyze([step.text for step in example.procedure.steps])]


def test_a_new_name_stands_everywhere():
    texts = ("Seeds fall on the ground.", "A seed and a wet Seed swell there.", "It is heavy.")
    rows = {"seed": ["?", "ground", "ground", "ground"], "water": ["?", "?", "seed", "seed"]}
    grid = Grid("1", texts, tuple(Row.from_locations(name, row) for name, row in rows.items()))
    procedure = Procedure(
        "1", tuple(map(Step, texts)), tuple(map(Entity, rows)), prompt="How do seeds swell?"
    )
    example = Example(procedure, grid)
    copy = rename(example, words_of(example), {"seed": "coin"})
    assert [step.text for step in copy.procedure.steps] == [
        "Coins fall on the ground.",
        "A coin and a wet Coin swell there.",
        "It is heavy.",
    ]
    assert copy.gold.steps == tuple(step.text for step in copy.procedure.steps)
    assert [entity.name for entity in copy.procedure.entities] == ["coin", "water"]
    assert copy.gold.names == ("coin", "water")
    assert copy.gold["water"].locations == ("?", "?", "coin", "coin")
    assert copy.gold["coin"].locations == grid["seed"].locations
    assert copy.procedure.prompt == "How do coins swell?"
    assert rename(example, words_of(example), {}) == example


def test_only_steps_in_which_nothing_happens_are_left_out():
    copy = drop_steps(OIL, 1.0, random.Random(0))
    assert [step.text for step in copy.procedure.steps] == [
        "Plants die in the sea.",
        "Mud covers the plants.",
        "The plants turn into oil.",
    ]
    assert copy.gold.steps == tuple(step.text for step in copy.procedure.steps)
    assert copy.gold["plants"].locations == ("?", "sea", "mud", "-")
    assert copy.gold["oil"].locations == ("-", "-", "-", "mud")
    assert drop_steps(OIL, 0.0, random.Random(0)) == OIL


def test_a_step_that_uses_something_stays():
    used = ((True, True, True, True), (False, False, True, False))
    example = Example(OIL.procedure, OIL.gold, used)
    assert drop_steps(example, 1.0, random.Random(0)) == example
    unused = ((True, True, True, False), (False, False, True, False))
    copy = drop_steps(Example(OIL.procedure, OIL.gold, unused), 1.0, random.Random(0))
    assert copy.takes_part == ((True, True, True), (False, False, True))


def test_a_verb_keeps_its_word():
    """Water as a noun here, as a verb there: no name is exchanged."""
    texts = ("Farmers water the plants.", "The water sinks into the soil.")
    grid = Grid("1", texts, (Row.from_locations("water", ["?", "?", "soil"]),))
    example = Example(Procedure("1", tuple(map(Step, texts)), (Entity("water"),)), grid)
    others = tiny.build_corpus().splits["train"]
    copies = make_copies([example, *others], 5, renamed=1.0, dropped=0.0)
    assert {copy.procedure.id for copy in copies} == {
        f"{id}~{number}" for id in ("rain", "oil", "sugar") for number in range(1, 6)
    }


def test_copies_are_the_same_every_time_and_differ():
    examples = tiny.build_corpus().splits["train"]
    copies = make_copies(examples, 3, renamed=0.5, dropped=0.5)
    assert copies == make_copies(examples, 3, renamed=0.5, dropped=0.5)
    texts = {tuple(step.text for step in copy.procedure.steps) for copy in copies}
    assert len(texts) > len(examples)
    assert all(copy.gold.id == copy.procedure.id for copy in copies)


def test_answers_of_the_real_corpus_stay_true(propara):
    """What happens, when, and in how many steps each entity is named, are those of the original."""
    examples = read_corpus(propara).take("train")[:60]
    copies = make_copies(examples, 1, renamed=1.0, dropped=0.0)
    assert len(copies) > 40
    known = {example.procedure.id: example for example in examples}
    originals = [known[copy.procedure.id.partition("~")[0]] for copy in copies]
    n_equal = n_entities = 0
    for copy, original in zip(copies, originals, strict=True):
        for ours, theirs in zip(copy.gold.rows, original.gold.rows, strict=True):
            assert ours.actions == theirs.actions
            assert [place in "-?" for place in ours.locations] == [
                place in "-?" for place in theirs.locations
            ]
    pairs = [annotate([example.procedure for example in each]) for each in (copies, originals)]
    for ours, theirs in zip(*pairs, strict=True):
        for entity, other in zip(ours.entities, theirs.entities, strict=True):
            n_entities += 1
            n_equal += {m.step for m in entity.mentions} == {m.step for m in other.mentions}
    assert n_equal / n_entities > 0.95
