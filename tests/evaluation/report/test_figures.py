import json

from koala.evaluation.report.figures import find_figures
from koala.evaluation.report.runs import choose_runs

TABLES = """
[bars]
groups = ["rows"]
by = ["model"]

[[bars.figures]]
file = "actions.svg"
caption = "Actions"
label = "predictions"
bars = [["create", "created"], ["move", "moved"]]
gold = ["gold_created", "gold_moved"]

[[bars.figures]]
file = "nothing.svg"
caption = "Nothing"
label = "percent"
bars = [["inputs", "inputs"]]
"""


def write_run(folder, name, model, **scores):
    run = {
        "name": name, "group": "rows", "model": model, "settings": "", "commit": "", "seed": 0,
        "signature": "", "decoding": "", "scores": scores, "command": [], "date": "",
        "status": "trained",
    }  # fmt: skip
    (folder / "runs" / f"{name}.json").write_text(json.dumps(run))
    return run


def test_bars_are_means_over_seeds_with_gold_first(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "tables.toml").write_text(TABLES)
    assert find_figures(tmp_path) == []
    for seed, moved in enumerate((10, 20)):
        write_run(tmp_path, f"a{seed}", "a", created=5, moved=moved, gold_created=7, gold_moved=9)
    write_run(tmp_path, "b", "b", created=5)
    (figure,) = find_figures(tmp_path)
    assert figure.path == tmp_path / "actions.svg"
    assert figure.bars == {
        "gold": {"create": 7.0, "move": 9.0},
        "a": {"create": 5.0, "move": 15.0},
    }


def test_runs_can_be_left_out(tmp_path):
    (tmp_path / "runs").mkdir()
    runs = [write_run(tmp_path, "a", "a", f1=1.0), write_run(tmp_path, "b", "b")]
    assert choose_runs({"groups": ["rows"], "without": ["a"]}, runs) == runs[1:]
    assert choose_runs({"groups": ["rows"], "needs": "f1"}, runs) == runs[:1]
