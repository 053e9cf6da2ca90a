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
