from itertools import product

import numpy as np
import pytest

from koala.errors import KoalaError
from koala.evaluation import (
    PRF,
    DocumentScores,
    compare_documents,
    compare_systems,
    score_document,
)
from koala.evaluation.document import QUESTIONS


def test_a_system_does_not_differ_from_itself(get_case):
    scores = score_document(*get_case("meet").grids)
    comparison = compare_documents(scores, scores)
    assert (comparison.f1_difference, comparison.low, comparison.high) == (0.0, 0.0, 0.0)


def test_a_good_system_is_better_than_a_bad_one(get_case):
    good, bad = (score_document(*get_case(name).grids) for name in ("meet", "04"))
    comparison = compare_documents(good, bad)
    assert comparison.f1_difference == pytest.approx(good.overall.f1 - bad.overall.f1)
    assert 0 < comparison.low < comparison.f1_difference < comparison.high
    turned = compare_documents(bad, good)
    assert (turned.low, turned.high) == pytest.approx((-comparison.high, -comparison.low))


def test_the_width_of_the_interval_is_plausible(get_case):
    """About ±4.5 F1 for one system on 54 paragraphs; that of a difference is similar."""
    one, other = (score_document(*get_case(name).grids) for name in ("00", "01"))
    comparison = compare_documents(one, other)
    assert 0.02 < comparison.high - comparison.low < 0.2


def test_the_same_seed_gives_the_same_interval(get_case):
    one, other = (score_document(*get_case(name).grids) for name in ("meet", "00"))
    assert compare_documents(one, other, seed=1) == compare_documents(one, other, seed=1)
    assert compare_documents(one, other, seed=1) != compare_documents(one, other, seed=2)


def test_the_interval_equals_that_of_all_samples():
    """Compare with enumeration: five procedures have 5^5 bootstrap samples."""
    perfect, half = PRF(1.0, 1.0), PRF(0.5, 0.25)
    scores = []
    for good in ((0, 1, 2), (3,)):
        per_process = {
            str(i): dict.fromkeys(QUESTIONS, perfect if i in good else half) for i in range(5)
        }
        scores.append(DocumentScores(per_process, dict.fromkeys(QUESTIONS, half), "", ""))
    differences = []
    for sample in product(range(5), repeat=5):
        f1 = []
        for good in ((0, 1, 2), (3,)):
            found = [perfect if i in good else half for i in sample]
            precision = round(sum(s.precision for s in found) / 5, 3)
            f1.append(PRF(precision, round(sum(s.recall for s in found) / 5, 3)).f1)
        differences.append(f1[0] - f1[1])
    low, high = np.quantile(differences, [0.025, 0.975])
    comparison = compare_documents(*scores, samples=40_000)
    assert (comparison.low, comparison.high) == pytest.approx((low, high), abs=1e-9)


def test_questions_are_drawn_whole():
    """Compare with enumeration: five questions have 5^5 samples, with nine procedures in all."""
    sizes = (1, 2, 3, 1, 2)
    ids = [f"{q}-{n}" for q, size in enumerate(sizes) for n in range(size)]
    questions = {id: id[0] for id in ids}
    values = {id: 0.1 * (number % 7) for number, id in enumerate(ids)}

    def build(shift):
        per_process = {
            id: dict.fromkeys(QUESTIONS, PRF(min(1.0, values[id] + shift), 0.5)) for id in ids
        }
        return DocumentScores(per_process, dict.fromkeys(QUESTIONS, PRF(0.5, 0.5)), "", "")

    one, other = build(0.2), build(0.0)
    differences = []
    for sample in product(range(5), repeat=5):
        drawn = [id for question in sample for id in ids if questions[id] == str(question)]
        f1 = []
        for shift in (0.2, 0.0):
            precision = round(sum(min(1.0, values[id] + shift) for id in drawn) / len(drawn), 3)
            f1.append(PRF(precision, 0.5).f1)
        differences.append(f1[0] - f1[1])
    low, high = np.quantile(differences, [0.025, 0.975])
    comparison = compare_documents(one, other, questions=questions, samples=40_000)
    assert (comparison.low, comparison.high) == pytest.approx((low, high), abs=2e-3)
    assert (comparison.drawn_by, comparison.drawn) == ("question", 5)
    alone = compare_documents(one, other, questions={id: id for id in ids})
    plain = compare_documents(one, other)
    assert (alone.low, alone.high) == (plain.low, plain.high)


def test_seeds_are_averaged(get_case):
    one, other, third = (score_document(*get_case(name).grids) for name in ("meet", "00", "04"))
    comparison = compare_systems([one, other], [third])
    mean = (one.overall.f1 + other.overall.f1) / 2 - third.overall.f1
    assert comparison.f1_difference == pytest.approx(mean)
    assert compare_systems([one, one], [third]).low == compare_documents(one, third).low


def test_too_few_processes_are_refused(get_case):
    scores = score_document(*get_case("fixture-2").grids)
    with pytest.raises(KoalaError, match="5 or more"):
        compare_documents(scores, scores)


def test_different_processes_are_refused(get_case):
    one, other = (score_document(*get_case(name).grids) for name in ("meet", "fixture-2"))
    with pytest.raises(KoalaError, match="different processes"):
        compare_documents(one, other)
