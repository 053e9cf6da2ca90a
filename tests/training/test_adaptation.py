"""Adapting tiny networks: only the heads change, corrections are learned, worse is refused."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from koala.cli import adapt  # noqa: E402
from koala.corpora import Corpus, Example  # noqa: E402
from koala.corpora.written import WrittenProcedure, write_procedures  # noqa: E402
from koala.errors import KoalaError  # noqa: E402
from koala.inference.calibration import Calibration  # noqa: E402
from koala.network.card import read_card  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.registry import load  # noqa: E402
from koala.training.adaptable import find_adaptable  # noqa: E402
from koala.training.adaptation import (  # noqa: E402
    Adaptation,
    AdaptationSettings,
    Adapted,
    Comparison,
    Examples,
    Measure,
    choose_rehearsal,
    split_folds,
)
from koala.training.checkpoint import BEST, Progress, save_checkpoint  # noqa: E402

from .. import tiny  # noqa: E402


def as_written(example: Example) -> Example:
    """Give a procedure of the tiny corpus in koala's own convention, with its name as title."""
    procedure = replace(example.procedure, convention="koala", question=example.procedure.id)
    return Example(procedure, example.gold)


CORRECTED = tuple(map(as_written, tiny.build_corpus().take("train")))


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """A network whose upper layer is trained, above marks; without knowledge, to be quick."""
    base = tiny.build_settings(tiny.build_encoder(tmp_path_factory.mktemp("tiny") / "e"), None)
    encoder = replace(base.encoder, entity="marked", n_shared_layers=1, n_frozen_layers=1)
    return replace(base, encoder=encoder, decoder=replace(base.decoder, reads="steps"))


def test_only_the_heads_change_and_corrections_are_learned(settings, tmp_path):
    torch.manual_seed(0)
    model = build_model(settings)
    how = AdaptationSettings(epochs=6, learning_rate=5e-3, folds=2)
    adaptation = Adaptation(settings, Calibration(), Examples(CORRECTED, CORRECTED[:1]), how=how)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first = adaptation._measure(adaptation._score([model], ["rain", "oil", "sugar"]))
    adapted = adaptation.run([model], tmp_path)
    changed = {n for n, value in model.state_dict().items() if not torch.equal(value, before[n])}
    assert changed
    assert not any(".transformer." in name or name.endswith("marker") for name in changed)
    assert {"states.output.weight", "crf.transitions"} <= changed
    # Each procedure was left out once.
    assert adapted.held_out.before.procedures == adapted.held_out.after.procedures == 3
    assert adapted.held_out.before.nll == pytest.approx(first.nll, abs=0.02)
    now = adaptation._measure(adaptation._score([model], ["rain", "oil", "sugar"]))
    assert now.nll < first.nll - 0.1


def measure(located: float, nll: float) -> Measure:
    return Measure(5, 0.5, located, 0.5, nll)


@pytest.mark.parametrize(
    ("held_out", "rehearsed", "problem"),
    [
        ((measure(0.5, 2), measure(0.6, 2)), None, None),
        ((measure(0.5, 2), measure(0.5, 1)), None, None),
        ((measure(0.5, 2), measure(0.4, 1)), None, "not better"),
        ((measure(0.5, 2), measure(0.5, 2)), None, "not better"),
        ((measure(0.5, 2), measure(0.6, 2)), (measure(0.5, 2), measure(0.48, 2)), "forgets"),
        (None, None, "single"),
    ],
)
def test_a_worse_network_is_a_problem(held_out, rehearsed, problem):
    comparisons = [Comparison(*each) if each else None for each in (held_out, rehearsed)]
    found = Adapted((), *comparisons, Calibration(), 1.0).problem
    assert found is None if problem is None else problem in found


def test_every_procedure_is_left_out_once():
    ids = [str(number) for number in range(10)]
    folds = split_folds(ids, 4)
    assert sorted(id for fold in folds for id in fold) == ids
    assert [len(fold) for fold in folds] == [3, 3, 2, 2]
    assert [len(fold) for fold in split_folds(ids[:3], 4)] == [1, 1, 1]
    assert split_folds(ids[:1], 4) == []


def test_what_was_corrected_is_not_rehearsed():
    corpus = Corpus("written", {"train": CORRECTED, "dev": CORRECTED})
    chosen = choose_rehearsal(CORRECTED[:1], [corpus])
    assert {e.procedure.id for e in chosen.rehearsed} == {"oil", "sugar"}
    assert {e.procedure.id for e in chosen.rehearsed_dev} == {"oil", "sugar"}
    assert len(choose_rehearsal(CORRECTED[:1], [corpus], most=1).rehearsed) == 1


def test_recipes_models_and_repeated_titles_are_refused(settings):
    recipes = replace(settings, decoder=replace(settings.decoder, tags="participation"))
    with pytest.raises(KoalaError, match="ingredient"):
        Adaptation(recipes, Calibration(), Examples(CORRECTED))
    with pytest.raises(KoalaError, match="occurs twice"):
        Adaptation(settings, Calibration(), Examples((*CORRECTED, CORRECTED[0])))


@pytest.fixture(scope="module")
def files(settings, tmp_path_factory):
    """A run, a file of corrections, and a corpus to rehearse."""
    folder = tmp_path_factory.mktemp("adapt")
    torch.manual_seed(0)
    (folder / "run").mkdir()
    save_checkpoint(folder / "run" / BEST, build_model(settings), settings, Progress(1, 1, 0.5))
    text = write_procedures([WrittenProcedure("own", "own", each, 1) for each in CORRECTED])
    (folder / "own.txt").write_text(text)
    (folder / "corpus" / "train").mkdir(parents=True)
    (folder / "corpus" / "train" / "old.txt").write_text(text.replace("Clouds", "Jugs"))
    return folder


def test_the_command_writes_a_model_that_can_be_adapted_again(koala, files, tmp_path):
    out = tmp_path / "mine"
    words = ("adapt", files / "own.txt", "--from", files / "run", "--rehearse", files / "corpus",
             "--epochs", 2, "--folds", 2, "--rate", 0.005)  # fmt: skip
    done = koala(*words, "-o", out, "--force", "--json")
    assert done.returncode == 0, done.stderr
    assert '"held_out"' in done.stdout
    card = read_card(out)
    assert card.name == "mine"
    assert "adapted to 3 procedures" in card.settings
    grid = load(out).track("Clouds hold water. The water falls.", ["water"])
    assert grid["water"].steps[1].confidence is not None
    # What was written is a model like any other.
    source = find_adaptable(out)
    adaptation = Adaptation(source.settings, source.calibration, Examples(CORRECTED))
    (model,) = source.open(adaptation.batcher, adaptation.data.dev)
    batch = adaptation.batcher.build(adaptation.data.dev)
    np.testing.assert_allclose(
        model.predict(batch).tags, load(out).scorer.network(batch).tags, atol=1e-3
    )
    assert koala(*words, "-o", out).returncode == 2


def test_a_worse_model_is_not_saved(koala, files, tmp_path, monkeypatch):
    monkeypatch.setattr(Comparison, "is_better", False)
    out = tmp_path / "mine"
    done = koala("adapt", files / "own.txt", "--from", files / "run", "--rehearse",
                 files / "corpus", "--epochs", 1, "--folds", 2, "-o", out)  # fmt: skip
    assert done.returncode == 2
    assert "not saved" in done.stderr
    assert "--force" in done.stderr
    assert not out.exists()


def test_without_the_corpus_the_bundled_examples_are_rehearsed(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KOALA_DATA", raising=False)
    monkeypatch.setattr(adapt, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    (corpus,) = adapt._find_rehearsal(None)
    assert len(corpus.take("train")) == 5
    assert "--rehearse" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("nothing.txt",), "nothing.txt"),
        (("{own}", "--from", "no-such-model"), "no-such-model"),
    ],
)
def test_mistakes_are_told(koala, files, tmp_path, words, problem):
    words = [word.format(own=files / "own.txt") for word in words]
    done = koala("adapt", *words, "-o", tmp_path / "mine")
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
