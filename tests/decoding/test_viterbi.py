import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from koala.decoding.marginals import find_change_marginals
from koala.decoding.viterbi import (
    TAGS,
    choose_locations,
    decode_row,
    decode_tags,
    find_tag_marginals,
    repair_tags,
)
from koala.grid.states import (
    ABSENT,
    FIRST_TAGS,
    LAST_TAGS,
    TRANSITIONS,
    Action,
    Tag,
    actions_from_tags,
    is_legal,
)
from koala.inference.calibration import Calibration
from koala.network.card import read_card
from koala.network.output import Output, average_outputs, log_softmax
from koala.registry import find_model


def load_calibration() -> Calibration:
    """Give the calibration of the bundled model."""
    return Calibration.from_dict(read_card(find_model()).calibration)


def build_output(seed: int, n_steps: int, n_candidates: int = 3) -> Output:
    rng = np.random.default_rng(seed)
    return Output(
        tags=rng.normal(size=(2, n_steps + 2, 6)).astype(np.float32),
        locations=rng.normal(size=(2, n_steps + 3, n_candidates + 1)).astype(np.float32),
        transitions=rng.normal(size=(6, 6)).astype(np.float32),
        starts=rng.normal(size=6).astype(np.float32),
        ends=rng.normal(size=6).astype(np.float32),
        n_steps=np.array([n_steps, n_steps]),
        n_candidates=np.array([n_candidates, n_candidates]),
    )


def enumerate_scores(
    output: Output, n_steps: int, only_legal: bool
) -> dict[tuple[Tag, ...], float]:
    """Score all tag sequences by enumeration."""
    scores = {}
    for numbers in itertools.product(range(6), repeat=n_steps):
        tags = tuple(TAGS[number] for number in numbers)
        steps = itertools.pairwise(tags)
        legal = tags[0] in FIRST_TAGS and tags[-1] in LAST_TAGS
        legal = legal and all(b in TRANSITIONS[a] for a, b in steps)
        if only_legal and not legal:
            continue
        score = output.starts[numbers[0]] + output.ends[numbers[-1]]
        score += sum(output.tags[1, step, number] for step, number in enumerate(numbers))
        score += sum(output.transitions[a, b] for a, b in itertools.pairwise(numbers))
        scores[tags] = float(score)
    return scores


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_steps", [1, 2, 4])
def test_the_best_legal_sequence_is_found(seed, n_steps):
    output = build_output(seed, n_steps)
    scores = enumerate_scores(output, n_steps, only_legal=True)
    assert decode_tags(output, 1) == max(scores, key=scores.get)


@pytest.mark.parametrize("seed", range(5))
def test_presence_reads_a_location_wherever_the_entity_exists(seed):
    output = build_output(seed, 4)
    names = ("?", "a", "b")
    viterbi = decode_row(output, 1, "it", names)
    row = decode_row(output, 1, "it", names, decoding="presence")
    best = output.locations[1, :5, :3].argmax(-1)
    for position, location in enumerate(row.locations):
        is_absent = viterbi.locations[position] == ABSENT
        assert location == (ABSENT if is_absent else names[best[position]])


@pytest.mark.parametrize("seed", range(5))
def test_repair_starts_from_the_best_of_all_sequences(seed):
    output = build_output(seed, 4)
    scores = enumerate_scores(output, 4, only_legal=False)
    best = max(scores, key=scores.get)
    assert decode_tags(output, 1, is_repaired=True) == repair_tags(best)


@pytest.mark.parametrize("seed", range(3))
def test_marginals_are_sums_over_legal_sequences(seed):
    output = build_output(seed, 4)
    scores = enumerate_scores(output, 4, only_legal=True)
    total = sum(np.exp(score) for score in scores.values())
    expected = np.zeros((4, 6))
    for tags, score in scores.items():
        for step, tag in enumerate(tags):
            expected[step, TAGS.index(tag)] += np.exp(score) / total
    np.testing.assert_allclose(np.exp(find_tag_marginals(output, 1)), expected, atol=1e-6)


@given(st.lists(st.sampled_from(TAGS), min_size=1, max_size=8))
def test_repaired_tags_are_legal_and_legal_tags_stay(tags):
    repaired = repair_tags(tags)
    assert is_legal(repaired)
    assert len(repaired) == len(tags)
    if is_legal(tags):
        assert repaired == tuple(tags)


@pytest.mark.parametrize(
    ("tags", "actions"),
    [
        ("C C M", ["CREATE", "NONE", "MOVE"]),  # created twice: the second does not count
        ("O_C M D C", ["NONE", "MOVE", "DESTROY", "CREATE"]),  # it moves first, so it existed
        ("D M E", ["DESTROY", "NONE", "NONE"]),  # a destroyed entity does not move
        ("C D D", ["CREATE", "DESTROY", "NONE"]),
    ],
)
def test_changes_that_cannot_happen_are_dropped(tags, actions):
    repaired = repair_tags([Tag(tag) for tag in tags.split()])
    assert [action.value for action in actions_from_tags(repaired)] == actions


@given(st.integers(0, 10_000), st.integers(1, 7), st.sampled_from(["viterbi", "repair"]))
def test_rows_never_contradict_themselves(seed, n_steps, decoding):
    row = decode_row(build_output(seed, n_steps), 0, "x", ("?", "a", "b"), decoding=decoding)
    assert row.problem is None
    assert len(row.steps) == n_steps
    for cell in row.steps:
        assert cell.action != Action.MOVE or cell.before != cell.after


def test_probabilities_add_up_to_one():
    found = find_change_marginals(build_output(3, 5), 0)
    tags, locations = found.name_tags(), found.name_locations(("?", "a", "b"))
    assert len(tags) == 5
    assert len(locations) == 6
    for row in (*tags, *locations):
        assert sum(row.values()) == pytest.approx(1)


@given(st.integers(0, 1000), st.integers(1, 4))
def test_an_ensemble_scores_each_sequence_by_the_mean_of_its_members(seed, n_steps):
    members = [build_output(seed + number, n_steps) for number in range(3)]
    average = enumerate_scores(average_outputs(members), n_steps, only_legal=True)
    each = [enumerate_scores(member, n_steps, only_legal=True) for member in members]
    for tags, score in average.items():
        assert score == pytest.approx(np.mean([scores[tags] for scores in each]), abs=1e-4)


def test_locations_are_averaged_as_log_probabilities():
    """A member that adds a constant to all location scores says the same."""
    one, other = build_output(0, 3), build_output(1, 3)
    shifted = replace(other, locations=other.locations + np.float32(50))
    found = average_outputs([one, shifted]).location_scores(0)
    expected = average_outputs([one, other]).location_scores(0)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_average_of_equal_outputs_is_the_same_and_padding_stays_impossible():
    one = build_output(0, 3)
    one.locations[:, :, 3] = np.finfo(np.float32).min
    average = average_outputs([one, one])
    np.testing.assert_allclose(average.tags, one.tags, atol=1e-6)
    assert np.isfinite(average.with_temperatures(2.0, 2.0).locations).all()
    assert (average.locations[:, :, 3] < -1e20).all()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "tags", [(Tag.E, Tag.M, Tag.M, Tag.E), (Tag.O_C, Tag.C, Tag.M, Tag.D), (Tag.M,) * 4]
)
def test_moves_change_the_location_as_by_enumeration(seed, tags):
    scores = np.random.default_rng(seed).normal(size=(len(tags) + 1, 3))
    log_probabilities = log_softmax(scores)
    read = [0] + [p for p, tag in enumerate(tags, 1) if tag in (Tag.C, Tag.M)]

    def is_allowed(chosen: tuple[int, ...]) -> bool:
        pairs = zip(read[1:], itertools.pairwise(chosen), strict=True)
        return all(tags[p - 1] != Tag.M or before != after for p, (before, after) in pairs)

    best = max(
        filter(is_allowed, itertools.product(range(3), repeat=len(read))),
        key=lambda chosen: sum(log_probabilities[p, n] for p, n in zip(read, chosen, strict=True)),
    )
    found = choose_locations(tags, scores)
    assert [found[p] for p in read] == list(best)


def test_a_single_candidate_cannot_change():
    assert choose_locations((Tag.M,), np.zeros((2, 1))) == [0, 0]
