"""benchmarks/results_tables.py on a small folder, and the pages of the repository."""

import csv
import importlib.util
import json
from pathlib import Path

import pytest

from koala.errors import KoalaError

ROOT = Path(__file__).parents[2]
TABLES = """
[models]
groups = ["models"]
by = ["model"]
join = ["speed"]
columns = [
  ["model", "{model}"],
  ["seeds", "{seed}"],
  ["F1", "{f1:1}"],
  ["against it", "{difference:+1} ({low:+1} to {high:+1})"],
  ["per second", "{speed:0}"],
]

[questions]
groups = ["models"]
transpose = true
columns = [["", "{name}"], ["F1", "{f1:1}"]]

[commands]
groups = ["models", "speed"]
commands = true
"""
PAGE = "# Page\n" + "".join(
    f"\n<!-- table: {name} -->\n<!-- end -->\n" for name in ("models", "questions", "commands")
)


@pytest.fixture(scope="module")
def tables():
    path = ROOT / "benchmarks" / "results_tables.py"
    spec = importlib.util.spec_from_file_location("results_tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_run(folder, stem, values, /, **fields):
    run = {
        "name": stem, "group": "models", "model": stem, "settings": "", "commit": "", "seed": 0,
        "signature": "a|b", "decoding": "Viterbi", "scores": values, "command": [f"make {stem}"],
        "date": "2026-11-18", "status": "trained",
    }  # fmt: skip
    (folder / "runs" / f"{stem}.json").write_text(json.dumps(run | fields))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "tables.toml").write_text(TABLES)
    (tmp_path / "page.md").write_text(PAGE)
    write_run(tmp_path, "one", {"f1": 70.5}, model="small", order=1)
    write_run(tmp_path, "two", {"f1": 69.9}, model="small", order=2, seed=1)
    write_run(tmp_path, "other", {"f1": 73.2, "difference": -0.8, "low": -3.7, "high": 2.1})
    write_run(tmp_path, "fast", {"speed": 1234}, group="speed", model="small")
    return tmp_path


def run(tables, folder, *options):
    return tables.main([*options, "--folder", str(folder)])


def test_tables(tables, folder):
    assert run(tables, folder) == 0
    page = (folder / "page.md").read_text()
    assert "| small | 0, 1 | 70.2 ± 0.4 |  | 1,234 |" in page
    assert "| other | 0 | 73.2 | −0.8 (−3.7 to +2.1) |  |" in page
    assert "|  | one | two | other |\n" in page
    assert "| F1 | 70.5 | 69.9 | 73.2 |" in page
    assert "```console\n$ make one\n$ make two\n$ make other\n$ make fast\n```" in page


def test_check(tables, folder, capsys):
    assert run(tables, folder, "--check") == 1
    assert "page.md: stale" in capsys.readouterr().out
    assert (folder / "page.md").read_text() == PAGE
    run(tables, folder)
    assert run(tables, folder, "--check") == 0
    write_run(folder, "new", {"f1": 75.0})
    assert run(tables, folder, "--check") == 1


@pytest.mark.parametrize(
    "wrong",
    [{"group": "nowhere"}, {"status": "good"}, {"name": "another"}, {"scores": {"f1": "7"}}],
)
def test_wrong_run(tables, folder, wrong):
    write_run(folder, "wrong", {}, **wrong)
    with pytest.raises(KoalaError, match=r"wrong|nowhere"):
        run(tables, folder)


def test_pages_are_up_to_date(tables):
    assert run(tables, ROOT / "results", "--check") == 0


def test_experiments():
    with (ROOT / "results" / "experiments.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["status"] for row in rows} == {"valid", "superseded", "not reproducible"}
    for row in rows:
        numbers = [row[name] for name in ("value", "deviation", "n_seeds", "low", "high")]
        assert all(float(number) is not None for number in numbers if number)
        assert row["value"] or row["low"]
