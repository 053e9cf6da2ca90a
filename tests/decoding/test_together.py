import itertools
from dataclasses import replace

import numpy as np
import pytest

from koala.corpora.recipes import read_examples
from koala.decoding import Output, decode_rows, find_confidences, find_probabilities
from koala.decoding.tags import TAGS
from koala.items import STAYS
from koala.states import ABSENT, Tag, tags_from_uses
from koala.training.data import find_step_places

NONE, OUT = 0, -1
NAMES = ("?", "bowl", "pan", "oven", "?")
"""The first stands for no place, the last for what is taken out."""


def build_output(uses, places, names=NAMES, *, sure: float = 20.0) -> Output:
    """Build what a network would say that is sure of uses and of the place of each step.

    Places are those of each ingredient's steps, by name or as NONE or OUT.
    """
    n, n_steps = len(uses), len(uses[0])
    tags = np.zeros((n, n_steps, len(TAGS)), dtype=np.float32)
    scores = np.zeros((n, n_steps + 1, len(names)), dtype=np.float32)
    for row, (used, steps) in enumerate(zip(uses, places, strict=True)):
        for step, tag in enumerate(tags_from_uses(used)):
            tags[row, step, TAGS.index(tag)] = sure
        for step, place in enumerate(steps):
            number = place if isinstance(place, int) else names.index(place)
            scores[row, step + 1, number] = sure
    return Output(
        tags=tags,
        places=scores,
        transitions=np.zeros((6, 6), dtype=np.float32),
        starts=np.zeros(6, dtype=np.float32),
        ends=np.zeros(6, dtype=np.float32),
        n_steps=np.full(n, n_steps),
        n_candidates=np.full(n, len(names)),
        has_uses=True,
        may_be_absent=True,
    )


def decode(output: Output, names=NAMES) -> list[tuple[str, ...]]:
    n = len(output.tags)
    entities = [f"entity {number}" for number in range(n)]
    rows = decode_rows(output, range(n), entities, names, decoding="together")
    return [row.locations for row in rows]


def test_a_step_moves_all_that_it_uses_to_one_place():
    uses = [[True, True], [True, True], [True, True]]
    places = [["bowl", "pan"], ["bowl", "pan"], ["bowl", "oven"]]
    # Two of three say pan.
    assert decode(build_output(uses, places)) == [("-", "bowl", "pan")] * 3


def test_without_a_place_the_new_is_somewhere_and_the_rest_stays():
    output = build_output([[True, True], [False, True]], [["bowl", NONE], [NONE, NONE]])
    assert decode(output) == [("-", "bowl", "bowl"), ("-", "-", "?")]


def test_what_is_taken_out_is_somewhere():
    output = build_output([[True, True, False]], [["oven", OUT, NONE]])
    assert decode(output) == [("-", "oven", "?", "?")]


def test_what_a_step_does_not_use_stays_and_what_none_uses_is_never_there():
    output = build_output([[True, False], [False, False]], [["bowl", "pan"], ["pan", "pan"]])
    assert decode(output) == [("-", "bowl", "bowl"), ("-", "-", "-")]


def test_the_rules_give_every_annotated_recipe(data):
    """Uses and one place a step decide a grid: so say the annotators, in every recipe."""
    n_steps = 0
    for split in ("train", "dev"):
        for example in read_examples(data / "recipes" / f"{split}.jsonl"):
            gold = [row.locations for row in example.gold.rows]
            seen = sorted({place for row in gold for place in row} - {"?", ABSENT})
            names = ("?", *seen, "?")
            steps = []
            for step in range(len(example.gold.steps)):
                used = [
                    (row[step], row[step + 1])
                    for row, uses in zip(gold, example.takes_part, strict=True)
                    if uses[step]
                ]
                places = find_step_places(used)
                assert len(places - {STAYS}) <= 1, example.procedure.id
                # Where either is right, the grid is the same.
                place = min(places) if n_steps % 2 else max(places)
                steps.append({STAYS: NONE, "?": OUT}.get(place, place))
                n_steps += 1
            output = build_output(example.takes_part, [steps] * len(gold), names)
            assert decode(output, names) == gold, example.procedure.id
    assert n_steps > 6000


def test_probabilities_are_those_of_all_lives():
    """Against the sum over all lives of a recipe with two steps, one by one."""
    rng = np.random.default_rng(0)
    output = build_output([[True, True]], [["bowl", "pan"]])
    output = replace(
        output,
        tags=rng.normal(size=output.tags.shape).astype(np.float32),
        places=rng.normal(size=output.places.shape).astype(np.float32),
    )
    tag_scores, place_scores = output.tags[0], output.places[0]
    places = np.exp(place_scores) / np.exp(place_scores).sum(-1, keepdims=True)
    lives = {}
    for uses in itertools.product([False, True], repeat=2):
        # All six tags are legal somewhere: only those of uses are asked for here.
        tags = [TAGS.index(tag) for tag in tags_from_uses(uses)]
        weight = np.exp(tag_scores[[0, 1], tags].sum())
        for chosen in itertools.product(range(len(NAMES)), repeat=2):
            row = [ABSENT]
            for is_used, place in zip(uses, chosen, strict=True):
                stays = "?" if row[-1] == ABSENT else row[-1]
                after = (NAMES[place] if place != NONE else stays) if is_used else row[-1]
                row.append(after)
            chance = weight * places[1, chosen[0]] * places[2, chosen[1]]
            lives[tuple(row)] = lives.get(tuple(row), 0.0) + chance
    # What destroys, or begins before step 1, is no use: its scores are made impossible.
    barred = [TAGS.index(tag) for tag in (Tag.D, Tag.O_D)]
    output.tags[..., barred] = -1e4
    output.starts[[TAGS.index(tag) for tag in (Tag.E, Tag.M)]] = -1e4
    total = sum(lives.values())
    found = find_probabilities(output, 0, NAMES)
    for step in (0, 1):
        moved = sum(w for row, w in lives.items() if ABSENT != row[step] != row[step + 1])
        assert found.tags[step][Tag.M.value] == pytest.approx(moved / total, abs=1e-6)
    here = {row: w for row, w in lives.items() if row[2] != ABSENT}
    in_pan = sum(w for row, w in here.items() if row[2] == "pan")
    assert found.places[2]["pan"] == pytest.approx(in_pan / sum(here.values()), abs=1e-6)


def test_what_is_used_where_it_was_has_not_moved():
    output = build_output([[True, True, True]], [["bowl", "bowl", "pan"]])
    probabilities = find_probabilities(output, 0, NAMES).tags
    assert probabilities[1][Tag.E.value] == pytest.approx(1, abs=1e-6)
    assert probabilities[2][Tag.M.value] == pytest.approx(1, abs=1e-6)
    assert all(sum(tags.values()) == pytest.approx(1) for tags in probabilities)
    (row,) = decode_rows(output, [0], ["flour"], NAMES, decoding="together")
    assert find_confidences(output, 0, row, NAMES) == pytest.approx((1, 1, 1), abs=1e-6)
