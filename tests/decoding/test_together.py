import numpy as np
import pytest

from koala.corpora.recipes import read_examples
from koala.decoding import Output, decode_rows, find_confidences, find_probabilities
from koala.decoding.tags import TAGS
from koala.states import ABSENT, Tag, tags_from_uses

NAMES = ("?", "bowl", "pan", "oven")


def build_output(uses, places, names=NAMES, *, sure: float = 20.0) -> Output:
    """Build what a network would say that is sure of uses and of the place at each position."""
    n, n_steps = len(uses), len(uses[0])
    tags = np.zeros((n, n_steps, len(TAGS)), dtype=np.float32)
    scores = np.zeros((n, n_steps + 1, len(names)), dtype=np.float32)
    for row, (used, where) in enumerate(zip(uses, places, strict=True)):
        for step, tag in enumerate(tags_from_uses(used)):
            tags[row, step, TAGS.index(tag)] = sure
        for position, place in enumerate(where):
            if place != ABSENT:
                scores[row, position, names.index(place)] = sure
    return Output(
        tags=tags,
        places=scores,
        transitions=np.zeros((6, 6), dtype=np.float32),
        starts=np.zeros(6, dtype=np.float32),
        ends=np.zeros(6, dtype=np.float32),
        n_steps=np.full(n, n_steps),
        n_candidates=np.full(n, len(names)),
        has_uses=True,
    )


def decode(output: Output, names=NAMES) -> list[tuple[str, ...]]:
    n = len(output.tags)
    entities = [f"entity {number}" for number in range(n)]
    rows = decode_rows(output, range(n), entities, names, decoding="together")
    return [row.locations for row in rows]


def test_a_step_moves_all_that_it_uses_to_one_place():
    uses = [[True, True], [True, True], [True, True]]
    places = [["-", "bowl", "pan"], ["-", "bowl", "pan"], ["-", "bowl", "oven"]]
    # Two of three say pan.
    assert decode(build_output(uses, places)) == [("-", "bowl", "pan")] * 3


def test_without_a_place_the_new_is_somewhere_and_the_rest_stays():
    output = build_output([[True, True], [False, True]], [["-", "bowl", "bowl"], ["-", "-", "?"]])
    assert decode(output) == [("-", "bowl", "bowl"), ("-", "-", "?")]


def test_what_is_taken_out_is_somewhere():
    output = build_output([[True, True, False]], [["-", "oven", "?", "?"]])
    assert decode(output) == [("-", "oven", "?", "?")]


def test_what_a_step_does_not_use_stays_and_what_none_uses_is_never_there():
    output = build_output(
        [[True, False], [False, False]], [["-", "bowl", "pan"], ["-", "pan", "pan"]]
    )
    assert decode(output) == [("-", "bowl", "bowl"), ("-", "-", "-")]


def test_the_rules_give_every_annotated_recipe(data):
    """Uses and places alone decide a grid: so say the annotators, in every recipe."""
    for split in ("train", "dev"):
        for example in read_examples(data / "recipes" / f"{split}.jsonl"):
            gold = [row.locations for row in example.gold.rows]
            names = ("?", *sorted({place for row in gold for place in row} - {"?", ABSENT}))
            output = build_output(example.takes_part, gold, names)
            assert decode(output, names) == gold, example.procedure.id


def test_what_is_used_where_it_was_has_not_moved():
    output = build_output([[True, True, True]], [["-", "bowl", "bowl", "pan"]])
    probabilities = find_probabilities(output, 0, NAMES).tags
    assert probabilities[1][Tag.E.value] == pytest.approx(1, abs=1e-6)
    assert probabilities[2][Tag.M.value] == pytest.approx(1, abs=1e-6)
    assert all(sum(tags.values()) == pytest.approx(1) for tags in probabilities)
    (row,) = decode_rows(output, [0], ["flour"], NAMES, decoding="together")
    assert find_confidences(output, 0, row, NAMES) == pytest.approx((1, 1, 1), abs=1e-6)
