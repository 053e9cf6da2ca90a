import itertools
from dataclasses import replace

import numpy as np
import pytest

from koala.corpora.recipes import read_examples
from koala.decoding.recipes import find_participation_marginals
from koala.decoding.viterbi import TAGS
from koala.grid.states import ABSENT, Tag, tags_from_participation
from koala.inputs.examples import STAYS
from koala.network.output import Output
from koala.tasks import RECIPES
from koala.training.data import find_step_locations

NONE, OUT = 0, -1
NAMES = ("?", "bowl", "pan", "oven", "?")
"""The first means that a step has no location, the last that it takes ingredients out."""


def build_output(participation, locations, names=NAMES, *, sure: float = 20.0) -> Output:
    """Build the output of a network that is sure of participation and of the steps' locations.

    `locations` holds those of each ingredient's steps, by name or as NONE or OUT.
    """
    n, n_steps = len(participation), len(participation[0])
    tags = np.zeros((n, n_steps, len(TAGS)), dtype=np.float32)
    scores = np.zeros((n, n_steps + 1, len(names)), dtype=np.float32)
    for row, (used, steps) in enumerate(zip(participation, locations, strict=True)):
        for step, tag in enumerate(tags_from_participation(used)):
            tags[row, step, TAGS.index(tag)] = sure
        for step, location in enumerate(steps):
            number = location if isinstance(location, int) else names.index(location)
            scores[row, step + 1, number] = sure
    return Output(
        tags=tags,
        locations=scores,
        transitions=np.zeros((6, 6), dtype=np.float32),
        starts=np.zeros(6, dtype=np.float32),
        ends=np.zeros(6, dtype=np.float32),
        n_steps=np.full(n, n_steps),
        n_candidates=np.full(n, len(names)),
        may_be_absent=True,
    )


def decode(output: Output, names=NAMES) -> list[tuple[str, ...]]:
    n = len(output.tags)
    entities = [f"entity {number}" for number in range(n)]
    rows = RECIPES.decode(output, entities, names, "viterbi")
    return [row.locations for row in rows]


def test_a_step_moves_all_ingredients_it_uses_to_one_location():
    participation = [[True, True], [True, True], [True, True]]
    locations = [["bowl", "pan"], ["bowl", "pan"], ["bowl", "oven"]]
    # Two of three say pan.
    assert decode(build_output(participation, locations)) == [("-", "bowl", "pan")] * 3


def test_without_a_location_new_ingredients_are_unknown_and_others_stay():
    output = build_output([[True, True], [False, True]], [["bowl", NONE], [NONE, NONE]])
    assert decode(output) == [("-", "bowl", "bowl"), ("-", "-", "?")]


def test_an_ingredient_that_is_taken_out_is_at_an_unknown_location():
    output = build_output([[True, True, False]], [["oven", OUT, NONE]])
    assert decode(output) == [("-", "oven", "?", "?")]


def test_unused_ingredients_stay_or_never_exist():
    output = build_output([[True, False], [False, False]], [["bowl", "pan"], ["pan", "pan"]])
    assert decode(output) == [("-", "bowl", "bowl"), ("-", "-", "-")]


def test_the_rules_reproduce_every_annotated_recipe(data):
    """In every recipe, participation and one location per step determine the gold grid."""
    n_steps = 0
    for split in ("train", "dev"):
        for example in read_examples(data / "recipes" / f"{split}.jsonl"):
            gold = [row.locations for row in example.gold.rows]
            seen = sorted({location for row in gold for location in row} - {"?", ABSENT})
            names = ("?", *seen, "?")
            steps = []
            for step in range(len(example.gold.steps)):
                used = [
                    (row[step], row[step + 1])
                    for row, participation in zip(gold, example.participation, strict=True)
                    if participation[step]
                ]
                locations = find_step_locations(used)
                assert len(locations - {STAYS}) <= 1, example.procedure.id
                # If two are right, both give the same grid.
                location = min(locations) if n_steps % 2 else max(locations)
                steps.append({STAYS: NONE, "?": OUT}.get(location, location))
                n_steps += 1
            output = build_output(example.participation, [steps] * len(gold), names)
            assert decode(output, names) == gold, example.procedure.id
    assert n_steps > 6000


def test_marginals_are_sums_over_all_trajectories():
    """Compare with the sum over all trajectories of a recipe with two steps."""
    rng = np.random.default_rng(0)
    output = build_output([[True, True]], [["bowl", "pan"]])
    output = replace(
        output,
        tags=rng.normal(size=output.tags.shape).astype(np.float32),
        locations=rng.normal(size=output.locations.shape).astype(np.float32),
    )
    tag_scores, location_scores = output.tags[0], output.locations[0]
    locations = np.exp(location_scores) / np.exp(location_scores).sum(-1, keepdims=True)
    trajectories = {}
    for participation in itertools.product([False, True], repeat=2):
        # Only the tags of participation count here.
        tags = [TAGS.index(tag) for tag in tags_from_participation(participation)]
        weight = np.exp(tag_scores[[0, 1], tags].sum())
        for chosen in itertools.product(range(len(NAMES)), repeat=2):
            row = [ABSENT]
            for is_used, location in zip(participation, chosen, strict=True):
                stays = "?" if row[-1] == ABSENT else row[-1]
                after = (NAMES[location] if location != NONE else stays) if is_used else row[-1]
                row.append(after)
            chance = weight * locations[1, chosen[0]] * locations[2, chosen[1]]
            trajectories[tuple(row)] = trajectories.get(tuple(row), 0.0) + chance
    # Destruction, and existence before step 1, are made impossible.
    barred = [TAGS.index(tag) for tag in (Tag.D, Tag.O_D)]
    output.tags[..., barred] = -1e4
    output.starts[[TAGS.index(tag) for tag in (Tag.E, Tag.M)]] = -1e4
    total = sum(trajectories.values())
    marginals = find_participation_marginals(output, 0, NAMES)
    tags, locations = marginals.name_tags(), marginals.name_locations(NAMES)
    for step in (0, 1):
        moved = sum(w for row, w in trajectories.items() if ABSENT != row[step] != row[step + 1])
        assert tags[step][Tag.M.value] == pytest.approx(moved / total, abs=1e-6)
    here = {row: w for row, w in trajectories.items() if row[2] != ABSENT}
    in_pan = sum(w for row, w in here.items() if row[2] == "pan")
    assert locations[2]["pan"] == pytest.approx(in_pan / sum(here.values()), abs=1e-6)


def test_an_ingredient_used_where_it_is_has_not_moved():
    output = build_output([[True, True, True]], [["bowl", "bowl", "pan"]])
    marginals = find_participation_marginals(output, 0, NAMES)
    probabilities = marginals.name_tags()
    assert probabilities[1][Tag.E.value] == pytest.approx(1, abs=1e-6)
    assert probabilities[2][Tag.M.value] == pytest.approx(1, abs=1e-6)
    assert all(sum(tags.values()) == pytest.approx(1) for tags in probabilities)
    (row,) = RECIPES.decode(output, ["flour"], NAMES, "viterbi")
    assert marginals.find_confidences(row, NAMES) == pytest.approx((1, 1, 1), abs=1e-6)
