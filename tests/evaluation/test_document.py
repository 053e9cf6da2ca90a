"""Compare with the official evaluator's scores."""

import pytest

import koala
from koala.corpora.leaderboard import read_predictions
from koala.errors import KoalaError
from koala.evaluation import PRF
from koala.evaluation.document import score_document
from koala.evaluation.questions import Conversion, Move, summarize
from koala.grid import Grid, Row

from .conftest import CASES


def test_all_cases_are_tested(propara):
    assert {path.name for path in (propara / "evaluator-cases").iterdir()} == set(CASES)


def test_official_scores(case):
    if "refused" in case.official:
        with pytest.raises(KoalaError):
            score_document(*case.grids)
        return
    official = case.official["document"]
    ours = score_document(*case.grids).to_dict()
    for group, values in official.items():
        if group == "overall":
            assert values.items() <= ours["overall"].items()
        elif group == "overall_unrounded":
            assert ours[group] == pytest.approx(values, abs=1e-9, rel=0)
        else:
            assert ours[group].keys() == values.keys()
            for name in values:
                if group == "questions":
                    assert ours[group][name] == pytest.approx(values[name], abs=1e-9, rel=0)
                else:
                    for question, pair in values[name].items():
                        assert ours[group][name][question] == pytest.approx(pair, abs=1e-9, rel=0)


def grid_of(**rows) -> Grid:
    n_steps = len(next(iter(rows.values()))) - 1
    made = (Row.from_locations(name, locations) for name, locations in rows.items())
    return Grid("1", ("",) * n_steps, tuple(made))


def test_a_conversion_in_one_step():
    grid = grid_of(wood=["hearth", "-", "-"], ash=["-", "hearth", "hearth"])
    summary = summarize(grid)
    assert summary.inputs == ("wood",)
    assert summary.outputs == ("ash",)
    assert summary.conversions == (Conversion(("wood",), ("ash",), ("hearth",), 1),)
    assert summary.moves == ()


def test_a_conversion_over_two_steps_must_start_before_the_last_but_one():
    early = grid_of(a=["x", "-", "-", "-"], b=["-", "-", "y", "y"])
    late = grid_of(a=["x", "-", "-"], b=["-", "-", "y"])
    assert summarize(early).conversions == (Conversion(("a",), ("b",), ("x", "y"), 1),)
    assert summarize(late).conversions == ()


def test_a_move_is_any_change_between_locations():
    assert summarize(grid_of(a=["x", "?", "?"])).moves == (Move("a", "x", "unk", 1),)


def test_the_public_score():
    gold = grid_of(wood=["hearth", "-"], ash=["-", "hearth"])
    assert koala.score(gold, gold).overall.f1 == 1.0
    assert koala.score([gold], {"1": gold}).overall.f1 == 1.0
    wrong = grid_of(wood=["hearth", "hearth"], ash=["-", "hearth"])
    assert koala.score(wrong, gold).overall.f1 < 1.0


def test_the_signature_identifies_gold_and_predictions():
    gold = grid_of(wood=["hearth", "-"], ash=["-", "hearth"])
    other = grid_of(wood=["hearth", "-"], ash=["-", "?"])
    one, two = koala.score(gold, gold).signature, koala.score(other, gold).signature
    assert one.startswith("propara-document|n:1|gold:")
    assert one.split("|")[2] == two.split("|")[2]
    assert one.split("|")[3] != two.split("|")[3]


def test_the_fingerprint_does_not_depend_on_order():
    rows = (Row.from_locations("a", ["x", "y"]), Row.from_locations("b", ["x", "-"]))
    one, other = (Grid("1", ("",), order) for order in (rows, rows[::-1]))
    assert koala.score(one, one).signature == koala.score(other, other).signature


def test_scores_of_a_case_computed_by_hand():
    gold = grid_of(a=["x", "-", "-"], b=["-", "y", "z"], c=["?", "?", "w"])
    predicted = grid_of(a=["x", "-", "-"], b=["-", "y", "y"], c=["?", "w", "w"])
    scores = koala.score(predicted, gold)
    assert scores.questions["inputs"] == PRF(1.0, 1.0)
    assert scores.questions["outputs"] == PRF(1.0, 1.0)
    assert scores.questions["conversions"] == PRF(1.0, 1.0)
    # Gold moves: b at step 2 and c at step 2; predicted: c at step 1. Nothing matches.
    assert scores.questions["moves"] == PRF(0.0, 0.0)
    assert scores.overall == PRF(0.75, 0.75)


def test_different_entities_are_refused_and_named(propara):
    gold = read_predictions(propara / "leaderboard" / "dev" / "answers.tsv")
    rows = gold["4"].rows
    renamed = Grid("4", gold["4"].steps, (Row("petrol", rows[0].steps), *rows[1:]))
    with pytest.raises(KoalaError, match=r"process 4: entity 'bacteria' is missing.*'petrol'"):
        score_document({**gold, "4": renamed}, gold)
    with pytest.raises(KoalaError, match="process 4 is missing"):
        score_document({id: grid for id, grid in gold.items() if id != "4"}, gold)
    with pytest.raises(KoalaError, match="process 4 is not in the gold"):
        score_document(gold, {id: grid for id, grid in gold.items() if id != "4"})


def test_an_empty_corpus_is_refused():
    with pytest.raises(KoalaError, match="no gold grids"):
        score_document({}, {})
