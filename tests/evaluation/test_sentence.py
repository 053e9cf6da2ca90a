"""Compare with the published evaluator's scores."""

import pytest

from koala.corpora.leaderboard import read_leaderboard
from koala.errors import FileError, KoalaError
from koala.evaluation.labels import ProcessLabels, align_name, read_labels
from koala.evaluation.sentence import score_sentence
from koala.grid import Grid, Row

from .conftest import CASES, WITHOUT_SENTENCE_SCORES


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITHOUT_SENTENCE_SCORES])
def test_official_scores(get_case, propara, name):
    case = get_case(name)
    official = case.official["sentence"]
    predicted, gold = case.grids
    labels = read_labels(propara / "sentence-labels", gold)
    ours = score_sentence(predicted, gold, labels).to_dict()
    assert ours.pop("version") == "published"
    assert ours == official


@pytest.mark.parametrize("name", sorted(WITHOUT_SENTENCE_SCORES))
def test_excluded_cases_have_no_official_score(get_case, name):
    assert not get_case(name).official.get("sentence")


@pytest.mark.parametrize("name", ["21", "27", "28"])
def test_files_that_the_published_script_cannot_read_have_a_score(get_case, propara, name):
    """Empty locations, missing rows and more columns; a missing row counts as unknown."""
    predicted, gold = get_case(name).grids
    scores = score_sentence(predicted, gold, read_labels(propara / "sentence-labels", gold))
    assert scores.questions["Q1"].total == 898
    assert 0 < scores.macro < 100


def test_gold_is_perfect_against_the_grid(get_case):
    predicted, gold = get_case("gold").grids
    scores = score_sentence(predicted, gold)
    assert scores.version == "grid"
    assert set(scores.categories.values()) == {100.0}
    assert scores.macro == scores.micro == 100.0


def test_an_unknown_location_is_an_answer_against_the_grid():
    gold = {"1": Grid("1", ("",), (Row.from_locations("oil", ["-", "?"]),))}
    right = score_sentence(gold, gold).questions["Q3"]
    assert (right.total, right.tp) == (1, 1)
    named = {"1": Grid("1", ("",), (Row.from_locations("oil", ["-", "sea"]),))}
    wrong = score_sentence(named, gold).questions["Q3"]
    assert (wrong.total, wrong.fp) == (1, 1)


def test_names_align_by_equality_then_by_distance():
    assert align_name("plant", ["plants", "plant"]) == "plant"
    assert align_name("plants", ["oil", "plant"]) == "plant"
    assert align_name("uranium", ["oil", "plant"]) == "uranium"


def test_missing_labels_are_refused(tmp_path, propara):
    with pytest.raises(FileError, match="no such folder"):
        read_labels(tmp_path / "none", ["4"])
    with pytest.raises(FileError, match="gold_labels"):
        read_labels(tmp_path, ["4"])
    with pytest.raises(FileError, match="no labels for process 999999"):
        read_labels(propara / "sentence-labels", ["999999"])


def test_labels_past_the_last_step_are_refused(get_case, propara):
    _, gold = get_case("gold").grids
    labels = read_labels(propara / "sentence-labels", ["4"])
    short = {"4": Grid("4", ("",), tuple(Row(r.name, r.steps[:1]) for r in gold["4"].rows))}
    with pytest.raises(KoalaError, match="the gold grid has only 1 steps"):
        score_sentence(short, short, labels)


def test_every_gold_grid_of_train_is_perfect_against_itself(propara):
    train = read_leaderboard(propara / "leaderboard").splits["train"]
    gold = {example.procedure.id: example.gold for example in train}
    assert score_sentence(gold, gold).macro == pytest.approx(100)


def test_the_signature_depends_on_the_labels(get_case, propara):
    predicted, gold = get_case("meet").grids
    labels = read_labels(propara / "sentence-labels", gold)
    fewer = {**labels, "4": ProcessLabels(labels["4"].names, labels["4"].annotators[:1])}
    one, other = (score_sentence(predicted, gold, some).signature for some in (labels, fewer))
    assert one != other
