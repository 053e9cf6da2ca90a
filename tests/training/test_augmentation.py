"""Copies of texts whose answers stay true."""

import random
from dataclasses import replace

import pytest

from koala.corpora import Example, read_corpus
from koala.document import Entity, Procedure, Step, annotate
from koala.grid import Grid, Row
from koala.items import build_items, group_items
from koala.settings import TrainingSettings
from koala.states import Action
from koala.training.augmentation import (
    choose_steps,
    hide_prompts,
    keep_steps,
    make_copies,
    rename,
)

from .. import tiny

TRAIN = tiny.build_corpus().splits["train"]
OIL = TRAIN[1]


def test_a_new_name_stands_everywhere():
    texts = ("Seeds fall on the ground.", "A seed and a wet Seed swell there.", "It is heavy.")
    rows = {
        "seed": ["?", "ground", "ground", "ground"],
        "water; dew": ["?", "?", "seeds' coat", "seeds' coat"],
        "coat;seed coat": ["seed", "seed", "seed", "seed"],
    }
    grid = Grid("1", texts, tuple(Row.from_locations(name, row) for name, row in rows.items()))
    prompt = "What do you need for a seed?"
    procedure = Procedure("1", tuple(map(Step, texts)), tuple(map(Entity, rows)), prompt=prompt)
    example = Example(procedure, grid)
    copy = rename(example, annotate([procedure])[0], {"seed": "berry"})
    assert [step.text for step in copy.procedure.steps] == [
        "Berries fall on the ground.",
        "A berry and a wet Berry swell there.",
        "It is heavy.",
    ]
    assert copy.gold.steps == tuple(step.text for step in copy.procedure.steps)
    names = ("berry", "water; dew", "coat;berry coat")
    assert tuple(entity.name for entity in copy.procedure.entities) == copy.gold.names == names
    assert [row.locations for row in copy.gold.rows] == [
        grid["seed"].locations,
        ("?", "?", "berries' coat", "berries' coat"),
        ("berry", "berry", "berry", "berry"),
    ]
    assert copy.procedure.prompt == "What do you need for a berry?"
    assert rename(example, annotate([procedure])[0], {}) == example


def test_only_steps_in_which_nothing_happens_are_left_out():
    kept = choose_steps(OIL, 1.0, random.Random(0))
    assert kept == [0, 1, 2]
    copy = keep_steps(OIL, kept)
    assert [step.text for step in copy.procedure.steps] == [
        "Plants die in the sea.",
        "Mud covers the plants.",
        "The plants turn into oil.",
    ]
    assert copy.gold.steps == tuple(step.text for step in copy.procedure.steps)
    assert copy.gold["plants"].locations == ("?", "sea", "mud", "-")
    assert copy.gold["oil"].locations == ("-", "-", "-", "mud")
    assert choose_steps(OIL, 0.0, random.Random(0)) == [0, 1, 2, 3]


def test_a_step_that_uses_something_stays():
    used = ((True, True, True, True), (False, False, True, False))
    assert choose_steps(replace(OIL, takes_part=used), 1.0, random.Random(0)) == [0, 1, 2, 3]
    unused = replace(OIL, takes_part=((True, True, True, False), (False, False, True, False)))
    kept = choose_steps(unused, 1.0, random.Random(0))
    assert keep_steps(unused, kept).takes_part == ((True, True, True), (False, False, True))


def build_example(texts, rows):
    grid = Grid("1", texts, tuple(Row.from_locations(name, row) for name, row in rows.items()))
    return Example(Procedure("1", tuple(map(Step, texts)), tuple(map(Entity, rows))), grid)


@pytest.mark.parametrize(
    ("texts", "rows"),
    [
        # A verb, too.
        (("Farmers water the plants.", "The water sinks."), {"water": ["?", "?", "soil"]}),
        # Several words, several names, nowhere in the text.
        (
            ("Rain water sinks.", "It freezes."),
            {"rain water": ["?", "soil", "soil"], "ice; frost": ["-", "-", "soil"]},
        ),
    ],
)
def test_what_is_no_single_noun_keeps_its_name(texts, rows):
    examples = [build_example(texts, rows), *TRAIN]
    copies = make_copies(examples, TrainingSettings(n_copies=5, renamed=1.0, dropped=0.0))
    assert copies
    assert {copy.procedure.id.partition("~")[0] for copy in copies} <= {"rain", "oil", "sugar"}


def test_the_last_mention_of_a_place_is_not_left_out():
    """Nothing happens in step 2, but it alone says where the star is."""
    texts = ("A star is born.", "It is in space.", "The star dies.")
    example = build_example(texts, {"star": ["-", "space", "space", "-"]})
    assert choose_steps(example, 1.0, random.Random(0)) == [0, 2]
    assert make_copies([example], TrainingSettings(n_copies=3, renamed=0.0, dropped=1.0)) == []


def test_copies_are_the_same_every_time_and_differ():
    copies = make_copies(TRAIN, TrainingSettings(n_copies=3, renamed=0.5, dropped=0.5))
    assert copies == make_copies(TRAIN, TrainingSettings(n_copies=3, renamed=0.5, dropped=0.5))
    texts = {tuple(step.text for step in copy.procedure.steps) for copy in copies}
    assert len(texts) > len(TRAIN)
    assert all(copy.gold.id == copy.procedure.id for copy in copies)


def test_answers_of_the_real_corpus_stay_true(propara):
    """Entities are named where they were, and places of the answers are found as they were."""
    examples = read_corpus(propara).take("train")[:80]
    copies = make_copies(examples, TrainingSettings(n_copies=1, renamed=1.0, dropped=1.0))
    assert len(copies) > 40
    known = {example.procedure.id: example for example in examples}
    originals = [known[copy.procedure.id.partition("~")[0]] for copy in copies]
    pairs = [annotate([example.procedure for example in each]) for each in (copies, originals)]
    n_renamed = 0
    for copy, original, ours, theirs in zip(copies, originals, *pairs, strict=True):
        for entity, other in zip(ours.entities, theirs.entities, strict=True):
            assert bool(entity.mentions) == bool(other.mentions)
            if entity.name != other.name and ";" not in other.name:
                n_renamed += 1
                left = {word.text.lower() for step in ours.steps for word in step.words}
                assert other.name.lower() not in left
        candidates, were = ({c.name for c in each.candidates} for each in (ours, theirs))
        n_lost = len(_find_places(copy) - candidates) - len(_find_places(original) - were)
        assert n_lost <= 0
        changes = [
            [[a for a in row.actions if a != Action.NONE] for row in each.gold.rows]
            for each in (copy, original)
        ]
        assert changes[0] == changes[1]
    assert n_renamed > 60


def _find_places(example):
    return {place for row in example.gold.rows for place in row.locations} - {"-", "?"}


def test_some_prompts_are_hidden_by_chance():
    procedures = [
        Procedure(
            str(n),
            (Step("Water falls."),),
            (Entity("water"), Entity("rain")),
            "How?",
            convention="propara",
        )
        for n in range(100)
    ]
    items = build_items(procedures, [((), ())] * len(procedures))
    hidden = hide_prompts(items, 0.5, seed=1)
    assert [(i.procedure.id, i.entity) for i in hidden] == [
        (i.procedure.id, i.entity) for i in items
    ]
    # The entities of a procedure still share one text.
    assert len(group_items(hidden)) == len(procedures)
    assert 30 < sum(not group[0].procedure.prompt for group in group_items(hidden)) < 70
    assert hide_prompts(items, 0.5, seed=1) == hidden != hide_prompts(items, 0.5, seed=2)
    assert hide_prompts(items, 0.0, seed=1) == items
