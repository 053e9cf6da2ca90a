from dataclasses import replace

import numpy as np
import pytest

from koala.document import Procedure, annotate
from koala.encoders.windows import load_tokenizer
from koala.grid import Row
from koala.inputs.arrays import Batcher
from koala.inputs.examples import STAYS, Item, Participation, build_items
from koala.inputs.targets import build_gold

TEXT = "Mix the flour and milk.\nFry it in the oil."


def build(*, has_list: bool, **options):
    procedure = Procedure.from_text(TEXT, ["wheat flour", "olive oil"])
    (annotated,) = annotate([procedure], has_parts=True, **options)
    items = build_items([annotated], [((), ())])
    return items, Batcher(None, has_list=has_list).build(items)


def test_listed_names_come_before_the_text():
    _, batch = build(has_list=True)
    text = load_tokenizer().decode(batch.subwords[0].tolist(), skip_special_tokens=False)
    assert text == (
        "[CLS] wheat flour [SEP] olive oil [SEP] mix the flour and milk. fry it in the oil. [SEP]"
    )
    assert len(batch.subwords) == 1
    flour, oil = batch.name_subwords
    assert np.flatnonzero(flour).tolist() == [1, 2]
    assert np.flatnonzero(oil).tolist() == [4, 5]
    # They belong to no step and do not count as mentions.
    assert not batch.step_subwords[0][:, :7].any()
    assert not batch.entity_subwords[:, :, :7].any()
    assert batch.entity_subwords[1].any(-1).tolist() == [False, True]


def test_without_a_list_there_are_no_names():
    _, batch = build(has_list=False)
    assert not batch.name_subwords.any()


def test_listed_names_do_not_count_as_subwords_of_a_step():
    items, _ = build(has_list=True)
    counts = [Batcher(None, has_list=b).count_subwords(items[0].procedure) for b in (True, False)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ({}, "[CLS] how? [SEP] mix the flour and milk. fry it in the oil. [SEP]"),
        (
            {"has_prefix": True},
            "[CLS] wheat flour [SEP] how? [SEP] mix the flour and milk. fry it in the oil. [SEP]",
        ),
        (
            {"has_list": True},
            "[CLS] how? [SEP] wheat flour [SEP] olive oil [SEP] mix the flour and milk. "
            "fry it in the oil. [SEP]",
        ),
    ],
    ids=["alone", "prefix", "list"],
)
def test_the_question_comes_before_the_text(front, expected):
    items, _ = build(has_list=False)
    asked = replace(items[0].procedure, question="How?")
    asked_items = [replace(item, procedure=asked) for item in items]
    batcher = Batcher(None, has_question=True, **front)
    batch = batcher.build(asked_items)
    decode = load_tokenizer().decode
    assert decode(batch.subwords[0].tolist(), skip_special_tokens=False) == expected
    assert batcher.count_subwords(asked) == batcher.count_subwords(items[0].procedure)
    without = Batcher(None, **front).build(items)
    assert (batch.step_subwords.sum(-1) == without.step_subwords.sum(-1)).all()
    # A procedure without a question gives the same arrays as a batcher that reads no questions.
    assert batcher.build(items).subwords.tolist() == without.subwords.tolist()


def test_a_long_question_is_cut():
    items, _ = build(has_list=False)
    asked = replace(items[0].procedure, question="why " * 500)
    batch = Batcher(None, has_question=True).build([replace(items[0], procedure=asked)])
    assert batch.subwords.shape[1] < 60


def test_known_locations_are_numbered():
    items, batch = build(has_list=False, known_locations=("oven", "oil"))
    names = ["?", *(candidate.name for candidate in items[0].procedure.candidates)]
    numbers = dict(zip(names, batch.candidate_number[0].tolist(), strict=True))
    assert (numbers["oven"], numbers["oil"], numbers["flour"], numbers["?"]) == (1, 2, 0, 0)


def test_gold_tags_are_state_changes_or_participation():
    items, _ = build(has_list=False)
    stay = frozenset({STAYS})
    row = Row.from_locations("wheat flour", ["-", "?", "?"])
    changes = Item(items[0].procedure, 0, gold=row)
    participation = Item(
        items[0].procedure, 0, gold=row, participation=Participation((True, True), (stay, stay))
    )
    tags = build_gold([changes, participation]).tags
    # O_C, C, E, M, D, O_D
    assert tags.tolist() == [[1, 2], [1, 3]]


def test_gold_locations_of_participation():
    items, _ = build(has_list=False, known_locations=("?", "oven"))
    names = ["?", *(candidate.name for candidate in items[0].procedure.candidates)]
    out, oven = len(names) - 2, len(names) - 1
    row = Row.from_locations("wheat flour", ["-", "oven", "oven"])

    def locations(*steps, used=(True, True)):
        gold = build_gold(
            [
                replace(
                    items[0],
                    gold=row,
                    participation=Participation(used, tuple(map(frozenset, steps))),
                )
            ]
        )
        return gold.locations[0].tolist(), gold.may_stay[0].tolist()

    assert locations({"oven"}, {STAYS, "oven"}) == ([-1, oven, oven], [False, False, True])
    assert locations({STAYS}, {"?"}) == ([-1, 0, out], [False, True, False])
    # A location that is not a candidate is ignored, unless the ingredient may also stay.
    assert locations({"wok"}, {STAYS, "wok"}) == ([-1, -1, 0], [False, False, True])
    assert locations({"oven"}, {"oven"}, used=(False, True)) == ([-1, -1, oven], [False] * 3)
