import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from .. import tiny


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    settings = tiny.build_settings(
        tiny.build_encoder(folder / "encoder"), tiny.build_store(folder), epochs=1
    )
    settings = replace(settings, decoder=replace(settings.decoder, locations="scorer"))
    (folder / "tiny.toml").write_text(settings.to_toml())
    tiny.write_propara(folder / "propara")
    return folder


@pytest.fixture(scope="module")
def run(home, koala):
    done = koala("train", home / "tiny.toml", "--data", home / "propara", "-o", home / "run",
                 "--seed", "3", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_train_prints_scores_as_json(run, home):
    assert run["seed"] == 3
    assert "overall" in run["document"]
    assert (home / "run" / "best.safetensors").is_file()


@pytest.mark.usefixtures("run")
def test_an_existing_run_is_not_overwritten(home, koala):
    again = koala("train", home / "tiny.toml", "--data", home / "propara", "-o", home / "run")
    assert again.returncode == 2
    assert "--resume" in again.stderr
    assert "Traceback" not in again.stderr


def test_predict_fills_every_row_of_a_template(run, home, koala, tmp_path):
    test = home / "propara" / "leaderboard" / "test"
    done = koala(
        "predict", "--model", home / "run", "--sentences", test / "sentences.tsv",
        "--template", test / "dummy-predictions.tsv", "-o", tmp_path / "p.tsv",
        "--probabilities", tmp_path / "q.jsonl", "--decoding", "viterbi",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    rows = [line.split("\t")[:3] for line in (tmp_path / "p.tsv").read_text().splitlines()]
    template = (test / "dummy-predictions.tsv").read_text().splitlines()
    assert rows == [line.split("\t")[:3] for line in template]
    answers = home / "propara" / "leaderboard" / "dev" / "answers.tsv"
    scored = koala("evaluate", tmp_path / "p.tsv", "--gold", answers, "--json")
    assert json.loads(scored.stdout)["document"]["overall"] == run["document"]["overall"]
    lines = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
    assert len(lines) == 6
    assert all(sum(step.values()) == pytest.approx(1) for line in lines for step in line["tags"])


@pytest.fixture(scope="module")
def exported(run, home, koala):  # noqa: ARG001
    folder = home / "exported"
    done = koala("export", home / "run", "-o", folder, "--data", home / "propara")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_predictions_of_an_exported_model_have_the_scores_of_its_card(
    exported, home, koala, tmp_path
):
    folder, card = exported
    dev = home / "propara" / "leaderboard" / "dev"
    for decoding, scores in (("viterbi", card["scores"]), ("mbr", card["scores"]["mbr"])):
        path = tmp_path / f"{decoding}.tsv"
        done = koala(
            "predict", "--model", folder, "--sentences", dev / "sentences.tsv",
            "--template", dev / "dummy-predictions.tsv", "-o", path, "--decoding", decoding,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        scored = koala("evaluate", path, "--gold", dev / "answers.tsv", "--json")
        assert json.loads(scored.stdout)["document"]["overall"]["f1"] == scores["f1"]
    assert 0 <= card["scores"]["calibration_error"] <= 1


def test_track_takes_an_exported_model_or_a_run(exported, home, koala):
    text = b"Clouds hold water.\nThe water falls to the soil."
    for model in (exported[0], home / "run"):
        done = koala(
            "track", "-", "--entity", "water", "--model", model, "--format", "json", stdin=text
        )
        assert done.returncode == 0, done.stderr
        grid = json.loads(done.stdout)
        assert [entity["name"] for entity in grid["entities"]] == ["water"]
        assert all(0 <= step["confidence"] <= 1 for step in grid["entities"][0]["steps"])
        assert grid["signature"]


def test_wrong_calls_of_track(exported, koala):
    for words, stdin, message in (
        (("track", "-"), b"And so on.", "No entities worth tracking"),
        (("track", "-", "--entity", "x", "--model", exported[0]), b" ", "empty"),
        (("track", "-", "--entity", "x", "--model", "nowhere"), b"Water boils.", "nowhere"),
    ):
        done = koala(*words, stdin=stdin)
        assert done.returncode == 2
        assert message in done.stderr


def test_ablate_prints_the_table(home, koala, tmp_path):
    table = "seeds = [0]\n[[row]]\nname = 'KoaLa'\nsettings = 'tiny.toml'\npaper_f1 = 70.4\n"
    (home / "table.toml").write_text(table)
    words = ("ablate", home / "table.toml", "--data", home / "propara", "-o", tmp_path)
    done = koala(*words)
    assert done.returncode == 0, done.stderr
    assert "| KoaLa |" in done.stdout
    assert (tmp_path / "table-actions.svg").is_file()
    [row] = json.loads(koala(*words, "--json").stdout)
    assert (row["row"]["paper_f1"], row["reports"][0]["seed"]) == (70.4, 0)


def test_ablate_by_folds_scores_train_and_dev(home, koala, tmp_path):
    (home / "folds.toml").write_text("seeds = [0]\n[[row]]\nname = 'A'\nsettings = 'tiny.toml'\n")
    words = ("ablate", home / "folds.toml", "--folds", "2", "--data", home / "propara")
    done = koala(*words, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| A |" in done.stdout
    assert (tmp_path / "folds-2-folds.md").read_text() == done.stdout
    [row] = json.loads(koala(*words, "-o", tmp_path, "--json").stdout)
    assert len(row["reports"]) == 2
    assert row["signature"].startswith("propara-document|n:")
    # A single fold is finished already; its table says that it is only one fold.
    single = koala(*words, "--fold", "2", "-o", tmp_path)
    assert single.returncode == 0, single.stderr
    assert "in fold 2 of 2" in single.stdout
    wrong = koala(*words, "--fold", "3", "-o", tmp_path)
    assert wrong.returncode == 2
    assert "--fold 3 was given, but --folds is 2" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "no.toml"), "no such file"),
        (("train", "tiny.toml", "--data", "nowhere", "-o", "new.run"), "no such folder"),
        (("ablate", "tiny.toml"), "koala train"),
        (("predict", "--model", "tiny.toml", "--sentences", "tiny.toml", "--template", "x",
          "-o", "y"), "tiny.toml"),
    ],
)  # fmt: skip
def test_wrong_calls_get_one_sentence(home, koala, arguments, message):
    paths = [home / each if Path(each).suffix or each == "nowhere" else each for each in arguments]
    done = koala(*paths)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    # No folder is left behind that would block the next attempt.
    assert not (home / "new.run").exists()


def test_a_missing_corpus_names_the_option(home, koala, tmp_path, monkeypatch):
    monkeypatch.delenv("KOALA_DATA", raising=False)
    done = koala("train", home / "tiny.toml", "-o", tmp_path / "run")
    assert done.returncode == 2
    assert "--data" in done.stderr
