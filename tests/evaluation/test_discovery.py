from itertools import product

import numpy as np
import pytest

import koala
from koala.corpora.leaderboard import read_predictions
from koala.errors import KoalaError
from koala.evaluation import PRF
from koala.evaluation.discovery import (
    DiscoveryScores,
    align_grid,
    compare_entities,
    find_heads,
    match_names,
    pad_gold,
    score_entities,
    score_found,
)
from koala.grid import Grid, Row


def grid_of(**rows) -> Grid:
    n_steps = len(next(iter(rows.values()))) - 1
    made = (Row.from_locations(n.replace("_", " "), locations) for n, locations in rows.items())
    return Grid("1", ("",) * n_steps, tuple(made))


GOLD = grid_of(wood=["hearth", "-", "-"], ash=["-", "hearth", "bucket"])


@pytest.mark.parametrize(
    ("name", "heads"),
    [
        ("the plants", {"plant"}),
        ("Layers of sediment", {"layer"}),
        ("plant; animals", {"plant", "anim"}),
        ("Uranium 235", {"uranium"}),
        ("from", {"from"}),
        ("seeds(2)", {"seed"}),
        ("?", set()),
    ],
)
def test_heads(name, heads):
    assert find_heads(name) == heads


@pytest.mark.parametrize(
    ("found", "gold", "matched"),
    [
        (["plant"], ["plants"], {0: 0}),
        (["crude oil"], ["oil; petroleum"], {0: 0}),
        (["oil tank"], ["oil"], {}),
        (["water"], ["salt water", "fresh water"], {0: 0}),  # each is matched once
        (["salt water", "water"], ["water", "salt water"], {0: 1, 1: 0}),
        (["fresh water; water", "salt water"], ["salt water", "water"], {0: 1, 1: 0}),
        (["?"], ["?"], {0: 0}),
        (["?"], ["-"], {}),
        ([], ["water"], {}),
        (["water"], [], {}),
    ],
)
def test_matching(found, gold, matched):
    assert match_names(found, gold) == matched


def test_scores_of_entity_names():
    scores = score_entities(
        {"1": ["water", "the sun", "light"], "2": []}, {"1": ["water", "sugar"], "2": ["ice"]}
    )
    assert scores.per_procedure == {"1": (1, 3, 2), "2": (0, 0, 1)}
    assert scores.score == PRF(1 / 3, 1 / 3)
    assert scores.to_dict()["matched"] == 1
    assert scores.signature.startswith("participants-head|n:2|gold:")


def test_names_of_different_procedures_are_refused():
    with pytest.raises(KoalaError, match="different procedures: 2"):
        score_entities({"1": [], "2": []}, {"1": []})


def test_the_interval_equals_that_of_all_samples():
    """Compare with enumeration: five procedures have 5^5 bootstrap samples."""
    one, other = (
        DiscoveryScores({str(i): (matched, 3, 2) for i, matched in enumerate(each)}, "", "")
        for each in ((2, 2, 1, 2, 0), (1, 0, 1, 2, 1))
    )
    differences = [
        sum(2 * (one.counts[i, 0] - other.counts[i, 0]) for i in sample) / 25
        for sample in product(range(5), repeat=5)
    ]
    comparison = compare_entities(one, other, samples=40_000)
    assert comparison.f1_difference == pytest.approx(2 * 2 / 25)
    assert (comparison.low, comparison.high) == pytest.approx(
        tuple(np.quantile(differences, [0.025, 0.975]))
    )


def test_too_few_or_different_procedures_are_refused():
    one, other = (DiscoveryScores({id: (1, 1, 1)}, "", "") for id in "ab")
    with pytest.raises(KoalaError, match="5"):
        compare_entities(one, one)
    with pytest.raises(KoalaError, match="different"):
        compare_entities(one, other)


def score(found: Grid, gold: Grid = GOLD):
    return score_found({"1": found}, {"1": gold})


def test_found_entities_score_like_given_ones():
    found = grid_of(the_ashes=["-", "hearth", "hearth"], dry_wood=["hearth", "-", "-"])
    named = grid_of(wood=["hearth", "-", "-"], ash=["-", "hearth", "hearth"])
    assert align_grid(found, GOLD).rows == named.rows
    assert score(found).questions == koala.score(named, GOLD).questions


def test_an_entity_that_was_not_found_costs_recall():
    scores = score(grid_of(ash=["-", "hearth", "bucket"]))
    assert scores.questions["inputs"] == PRF(1.0, 0.0)  # no answer is given, one is gold
    assert scores.questions["outputs"] == PRF(1.0, 1.0)
    assert scores.questions["conversions"] == PRF(1.0, 0.0)


def test_an_entity_that_is_not_gold_costs_precision():
    rows = {row.name: list(row.locations) for row in GOLD.rows}
    scores = score(grid_of(**rows, smoke=["-", "hearth", "sky"]))
    assert scores.questions["inputs"] == PRF(1.0, 1.0)
    assert scores.questions["outputs"] == PRF(0.5, 1.0)
    assert scores.questions["moves"] == PRF(0.5, 1.0)
    # One conversion: half of the created entities and half of its locations are gold,
    # (1 + 1/2 + 1/2) / 3.
    assert scores.questions["conversions"] == PRF(0.667, 0.667)


def test_an_entity_that_is_not_gold_gets_no_partial_credit():
    """The official scorer would give a third of a point for each right location of a move."""
    gold = grid_of(ash=["hearth", "bucket"])
    scores = score(grid_of(smoke=["hearth", "bucket"]), gold)
    assert scores.questions["moves"] == PRF(0.0, 0.0)
    assert score(grid_of(smoke=["?", "bucket"]), grid_of(ash=["?", "box"])).questions["moves"] == (
        PRF(0.0, 0.0)
    )


def test_an_entity_without_changes_costs_nothing():
    rows = {row.name: list(row.locations) for row in GOLD.rows}
    assert score(grid_of(**rows, hearth=["?", "?", "?"])).overall == PRF(1.0, 1.0)


@pytest.mark.parametrize("name", ["ash; wood", "ash", "ash AND wood", "ash OR wood"])
def test_a_second_entity_of_the_same_name_gets_no_credit(name):
    rows = (*GOLD.rows, Row.from_locations(name, ["-", "-", "hearth"]))
    scores = score(Grid("1", GOLD.steps, rows))
    assert scores.questions["outputs"] == PRF(0.5, 1.0)


def test_two_gold_rows_with_the_same_name():
    gold = Grid("1", GOLD.steps, (*GOLD.rows, GOLD.rows[0]))
    assert score(gold, gold).overall == PRF(1.0, 1.0)
    assert align_grid(gold, gold) == gold == pad_gold(gold, gold)


def test_nothing_found():
    scores = score(Grid("1", GOLD.steps, ()))
    assert scores.overall == PRF(1.0, 0.0)


def test_missing_procedures_are_refused():
    with pytest.raises(KoalaError, match="1 is missing"):
        score_found({}, {"1": GOLD})


def test_gold_against_itself_and_the_official_scores(propara):
    gold = read_predictions(propara / "leaderboard" / "dev" / "answers.tsv")
    assert score_found(gold, gold).overall == PRF(1.0, 1.0)
    meet = read_predictions(propara / "evaluator-cases" / "meet" / "predictions.tsv")
    assert score_found(meet, gold).questions == koala.score(meet, gold).questions
