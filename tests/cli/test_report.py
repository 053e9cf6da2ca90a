"""`koala report` as users call it."""

import json

import pytest

from .. import tiny


@pytest.fixture(scope="module")
def runs(settings, tmp_path_factory):
    pytest.importorskip("torch")
    from dataclasses import replace

    from koala.training.run import DataSource, train

    folder = tmp_path_factory.mktemp("runs")
    source = DataSource(tiny.build_corpus())
    short = replace(settings, training=replace(settings.training, epochs=1))
    rows = {
        "koala": short,
        "minus-attention-loss": replace(short, loss=replace(short.loss, attention=0.0)),
        "minus-conceptnet": replace(short, knowledge=replace(short.knowledge, is_used=False)),
    }
    for name, own in rows.items():
        train(own, source, folder / name)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny.write_propara(tmp_path_factory.mktemp("data") / "propara")


def test_attention_of_two_runs_side_by_side(koala, runs, corpus, tmp_path):
    models = ("--model", runs / "koala", "--model", runs / "minus-attention-loss")
    words = ("report", "attention", "--id", "rain", "--data", corpus, *models)
    done = koala(*words, "--entity", "water", "--format", "json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert list(value["models"]) == ["koala", "minus-attention-loss"]
    (water,) = value["models"]["koala"]
    assert water["entity"] == "water"
    assert (len(water["states"]), len(water["locations"])) == (3, 4)
    assert all(sum(step) == pytest.approx(1, abs=1e-4) for step in water["states"])
    assert any("water" in triple for triple in water["triples"])
    for suffix, start in (("svg", "<svg"), ("html", "<!DOCTYPE html>")):
        path = tmp_path / f"attention.{suffix}"
        assert koala(*words, "-o", path).returncode == 0
        content = path.read_text()
        assert content.startswith(start)
        assert "minus-attention-loss" in content
        assert "rain — koala" in content


def test_attention_of_a_text(koala, runs, tmp_path):
    (tmp_path / "soil.txt").write_text("Water falls to the soil.\nThe water stays in the soil.\n")
    done = koala(
        "report", "attention", tmp_path / "soil.txt", "--entity", "water", "--location", "soil",
        "--model", runs / "koala", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (water,) = json.loads(done.stdout)["models"]["koala"]
    assert water["asked"] == ["soil"] * 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "either a FILE or --id"),
        (("--id", "snow"), "has no procedure 'snow'. It has: rain"),
        (("--id", "rain", "--entity", "oil"), "has no entity 'oil'. It has: water, rain"),
        (("--id", "rain", "--location", "moon"), "'moon' is no location candidate"),
    ],
)
def test_wrong_calls_get_one_sentence(koala, runs, corpus, words, message):
    done = koala("report", "attention", "--data", corpus, "--model", runs / "koala", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())


def test_networks_without_the_attention_are_refused(koala, runs, corpus):
    for model, message in (
        (runs / "minus-conceptnet", "reads no triples"),
        ("small", "Give the folder of the training run"),
    ):
        done = koala("report", "attention", "--id", "rain", "--data", corpus, "--model", model)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in " ".join(done.stderr.split())


TABLE = """
settings = "base.toml"
seeds = [0]
[[row]]
name = "KoaLa"
paper_f1 = 70.4
[[row]]
name = "− ConceptNet"
paper_f1 = 67.7
knowledge = { is_used = false }
[[row]]
name = "unfinished"
loss = { attention = 0.0 }
"""

RESULTS = """
[verdicts]
groups = ["table"]
claims = [["knowledge helps", "KoaLa", "− ConceptNet"]]

[rows]
groups = ["table"]
by = ["model"]
columns = [["model", "{model}"], ["F1", "{f1:1}"], ["triples", "{knowledge}"]]

[pictures]
groups = ["table"]
by = ["model"]
[[pictures.figures]]
file = "actions.svg"
caption = "State changes"
label = "predictions"
bars = [["create", "created"], ["move", "moved"], ["destroy", "destroyed"]]
gold = ["gold_created", "gold_moved", "gold_destroyed"]
"""


@pytest.fixture(scope="module")
def results(settings, tmp_path_factory):
    """A folder of results with a page, and a table of runs, two of three rows of it finished."""
    pytest.importorskip("torch")
    from koala.training.run import DataSource
    from koala.training.sweep import read_ablation, run_ablation

    folder = tmp_path_factory.mktemp("results")
    base = settings.to_toml().replace("epochs = 2", "epochs = 1")
    (folder / "base.toml").write_text(base)
    (folder / "table.toml").write_text(TABLE)
    ablation = read_ablation(folder / "table.toml").choose(["KoaLa", "− ConceptNet"])
    run_ablation(ablation, DataSource(tiny.build_corpus()), folder / "made")
    (folder / "runs").mkdir()
    (folder / "tables.toml").write_text(RESULTS)
    marks = "".join(
        f"<!-- table: {name} -->\n<!-- end -->\n" for name in ("verdicts", "rows", "pictures")
    )
    (folder / "paper.md").write_text(f"# Paper\n{marks}")
    return folder


def test_runs_are_recorded_and_the_page_is_written_from_them(koala, results, corpus):
    page = results / "paper.md"
    assert koala("report", "paper", "--results", results).returncode == 0
    assert page.read_text().count("*No run yet.*") == 3
    record = ("report", "record", results / "table.toml", "--runs", results / "made",
              "--data", corpus, "--results", results)  # fmt: skip
    done = koala(*record)
    assert done.returncode == 0, done.stderr
    names = ["table-koala-seed0", "table-minus-conceptnet-seed0"]
    assert [line.split("/")[-1] for line in done.stdout.split()] == [f"{n}.json" for n in names]
    run = json.loads((results / "runs" / f"{names[0]}.json").read_text())
    report = json.loads((results / "made" / "koala-seed0" / "report.json").read_text())
    assert run["scores"]["f1"] == round(100 * report["document"]["overall_unrounded"]["f1"], 1)
    assert run["scores"]["gold_destroyed"] == 3
    assert run["knowledge"] == report["knowledge"] != "none"
    assert run["signature"] in report["signature"]
    assert run["processes"].keys() == {"rain", "oil", "sugar"}
    assert run["scores"]["top"] == round(100 * report["attention"]["top"], 1)
    check = ("report", "paper", "--results", results, "--check")
    assert koala(*check).returncode == 1
    assert koala("report", "paper", "--results", results).returncode == 0
    assert koala(*check).returncode == 0
    text = page.read_text()
    assert "| knowledge helps | table | KoaLa | − ConceptNet |" in text
    # Three procedures are too few for an interval.
    assert "| not drawn | +2.7 | **not shown** |" in text
    assert "| − ConceptNet |" in text
    assert "![State changes](actions.svg)" in text
    assert (results / "actions.svg").read_text().startswith("<?xml")
    assert koala("report", "tables", "--results", results, "--check").returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("paper", "--results", "{tmp}"), "it has no tables.toml"),
        (("record", "{results}/table.toml", "--runs", "{tmp}", "--data", "{corpus}",
          "--results", "{results}"), "holds no finished run"),
    ],
)  # fmt: skip
def test_wrong_folders_get_one_sentence(koala, results, corpus, tmp_path, words, message):
    given = [w.format(tmp=tmp_path, results=results, corpus=corpus) for w in words]
    done = koala("report", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())
