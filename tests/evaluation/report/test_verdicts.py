import pytest

from koala.evaluation.document import QUESTIONS
from koala.evaluation.report.tables import write_table
from koala.evaluation.report.verdicts import (
    CONTRADICTED,
    NOT_SHOWN,
    REPRODUCED,
    judge,
    read_processes,
)

N_QUESTIONS = 8


def build_run(model, quality, seed=0, *, kept=True, **scores):
    """Build a run whose procedures, two a question, all have the given precision and recall."""
    processes = {
        str(number): {
            "question": number // 2,
            **{name: [min(1.0, quality + number % 3 / 100), quality] for name in QUESTIONS},
        }
        for number in range(2 * N_QUESTIONS)
    }
    return {
        "name": f"{model}-{seed}", "group": "rows", "model": model, "seed": seed, "signature": "",
        "scores": {"f1": 100 * quality, **scores}, **({"processes": processes} if kept else {}),
    }  # fmt: skip


def rows(one, other, **options):
    ones = [build_run("KoaLa", q, seed, **options) for seed, q in enumerate(one)]
    return ones, [build_run("bare", q, seed, **options) for seed, q in enumerate(other)]


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [
        ((0.7, 0.72), (0.6, 0.62), REPRODUCED),
        ((0.6, 0.62), (0.7, 0.72), CONTRADICTED),
        ((0.7, 0.7), (0.7, 0.7), NOT_SHOWN),
        # The means differ and every question agrees, but one seed is on the other side.
        ((0.9, 0.6), (0.65, 0.65), NOT_SHOWN),
    ],
)
def test_a_verdict_needs_all_seeds_and_an_interval(one, other, word):
    verdict = judge(*rows(one, other))
    assert verdict.word == word
    assert verdict.comparison.drawn_by == "question"
    assert verdict.comparison.drawn == N_QUESTIONS
    assert verdict.difference == pytest.approx(50 * (sum(one) - sum(other)))


def test_without_scores_of_single_procedures_nothing_is_shown():
    verdict = judge(*rows((0.9, 0.9), (0.1, 0.1), kept=False))
    assert (verdict.comparison, verdict.word) == (None, NOT_SHOWN)


def test_scores_of_single_procedures_are_read_back():
    scores = read_processes(build_run("KoaLa", 0.5))
    assert scores.overall.recall == pytest.approx(0.5)
    assert len(scores.per_process) == 2 * N_QUESTIONS


def test_the_table_has_a_row_for_each_claim_and_group_with_both_models():
    table = {
        "groups": ["rows", "other"],
        "names": {"rows": "tiny rows"},
        "claims": [["knowledge helps", "KoaLa", "bare"], ["the gate helps", "KoaLa", "gone"]],
    }
    ones, others = rows((0.7,), (0.6,))
    runs = [
        *[run | {"scores": run["scores"] | {"paper_f1": 70.4}} for run in ones],
        *[run | {"scores": run["scores"] | {"paper_f1": 67.7}} for run in others],
    ]
    text = write_table(table, runs)
    assert "| knowledge helps | tiny rows | KoaLa | bare | 70.0 against 60.0 | +10.0 |" in text
    assert "| +2.7 | **reproduced** |" in text
    assert "gate" not in text
    assert write_table(table, []) == "*No run yet.*\n"
    assert write_table(table | {"claims": table["claims"][1:]}, runs) == "*No run yet.*\n"
