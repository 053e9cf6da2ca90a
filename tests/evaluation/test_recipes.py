import pytest

from koala.corpora.recipes import read_examples
from koala.errors import KoalaError
from koala.evaluation.recipes import find_changes, score_recipes
from koala.grid import Grid, Row


def grid_of(*rows) -> Grid:
    made = tuple(Row.from_locations(name, locations) for name, locations in rows)
    return Grid("1", ("",) * (len(rows[0][1]) - 1), made)


def test_changes_of_a_worked_example():
    grid = grid_of(
        ("flour", ["-", "bowl", "bowl", "?", "-"]), ("flour", ["pan", "pan", "-", "-", "x"])
    )
    assert find_changes(grid) == {
        ("flour", 0, 1, "bowl"),
        ("flour", 0, 3, "?"),
        ("flour", 1, 4, "x"),
    }


def test_scores_of_a_worked_example():
    gold = {"1": grid_of(("flour", ["-", "bowl", "oven"]), ("salt", ["-", "-", "bowl"]))}
    predicted = {"1": grid_of(("flour", ["-", "bowl", "pan"]), ("salt", ["-", "-", "-"]))}
    scores = score_recipes(predicted, gold)
    assert (scores.correct, scores.predicted, scores.gold) == (1, 2, 3)
    assert scores.to_dict() == pytest.approx(
        {"precision": 1 / 2, "recall": 1 / 3, "f1": 0.4, "correct": 1, "predicted": 2, "gold": 3}
    )


def test_dev_against_itself_and_against_empty_grids(data):
    gold = {e.procedure.id: e.gold for e in read_examples(data / "recipes" / "dev.jsonl")}
    assert score_recipes(gold, gold).overall.f1 == 1.0

    none = {
        id: Grid(
            id, g.steps, tuple(Row.from_locations(n, ["-"] * (len(g.steps) + 1)) for n in g.names)
        )
        for id, g in gold.items()
    }
    scores = score_recipes(none, gold)
    assert (scores.correct, scores.predicted, scores.gold > 0) == (0, 0, True)
    assert (scores.overall.precision, scores.overall.recall, scores.overall.f1) == (1.0, 0.0, 0.0)


def test_different_ingredients_are_refused():
    with pytest.raises(KoalaError, match="'salt'"):
        score_recipes({"1": grid_of(("flour", ["-", "a"]))}, {"1": grid_of(("salt", ["-", "a"]))})


def test_incomplete_predictions_are_refused():
    gold = {"1": grid_of(("flour", ["-", "a", "b"]), ("flour", ["-", "-", "c"]))}
    with pytest.raises(KoalaError, match=r"1 ingredient\(s\) 'flour', gold has 2"):
        score_recipes({"1": grid_of(("flour", ["-", "a", "b"]))}, gold)
    with pytest.raises(KoalaError, match="1 steps, gold has 2"):
        score_recipes({"1": grid_of(("flour", ["-", "a"]), ("flour", ["-", "-"]))}, gold)
