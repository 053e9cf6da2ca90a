import json

import pytest

from koala.corpora.recipes import read_examples, write_grids
from koala.evaluation import score_recipes
from koala.examples import read_example


@pytest.fixture
def recipes(tmp_path):
    """Write our own recipes in the format of the corpus, with what we think of them as gold."""
    path = tmp_path / "recipes.jsonl"
    path.write_text(write_grids([read_example("pancakes"), read_example("soup")], has_text=True))
    return path


def test_recipes_are_predicted_in_their_own_format(koala, recipes, tmp_path):
    out = tmp_path / "predictions.jsonl"
    done = koala("predict", "--corpus", "recipes", "--input", recipes, "-o", out)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {"para_id", "participants", "locations"} <= lines[0].keys()
    grids = [{e.procedure.id: e.gold for e in read_examples(path)} for path in (out, recipes)]
    scores = score_recipes(*grids)
    # Nobody has trained on these.
    assert scores.overall.f1 > 0.6
    done = koala("evaluate", out, "--gold", recipes)
    assert scores.signature in done.stdout


def test_a_step_leads_all_it_uses_to_one_place(koala, recipes, tmp_path):
    out = tmp_path / "predictions.jsonl"
    koala("predict", "--corpus", "recipes", "--input", recipes, "-o", out)
    for example in read_examples(out):
        rows = [row.locations for row in example.gold.rows]
        for before, after in zip(range(len(rows[0])), range(1, len(rows[0])), strict=False):
            new = {row[after] for row in rows if row[after] not in (row[before], "-", "?")}
            assert len(new) <= 1


def test_recipes_come_with_input(koala, recipes, tmp_path):
    done = koala("predict", "--corpus", "recipes", "--sentences", recipes, "--template", recipes,
                 "-o", tmp_path / "p")  # fmt: skip
    assert done.returncode != 0
    assert "--input" in done.stderr
    assert "Traceback" not in done.stderr
