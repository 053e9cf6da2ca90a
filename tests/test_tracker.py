"""The bundled models as a user has them: without torch, deterministic."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

import koala
from koala.bundled.examples import read_example
from koala.corpora import read_corpus
from koala.discovery.add import add_missing_entities
from koala.document import Procedure
from koala.encoders.weights import is_fetched
from koala.errors import KoalaError
from koala.grid import TextSpan
from koala.inference.calibration import Calibration
from koala.knowledge.conceptnet import build_store
from koala.knowledge.store import Store
from koala.network.card import MBR, measure_size, read_card
from koala.registry import find_model, join, list_models, load
from koala.tracker import Tracker

TEXT = "Roots absorb water from the soil.\nThe water flows to the leaf.\nThe leaf makes sugar."


@pytest.fixture(scope="module")
def tracker():
    return koala.load()


def test_a_text_becomes_a_grid(tracker):
    grid = tracker.track(TEXT, entities=["water", "sugar"])
    assert grid.names == ("water", "sugar")
    assert len(grid.steps) == 3
    assert grid["sugar"].steps[2].action == "CREATE"
    assert all(row.problem is None for row in grid.rows)
    assert all(0 <= cell.confidence <= 1 for row in grid.rows for cell in row.steps)
    assert grid.signature == tracker.card.signature


def test_a_list_of_steps_is_not_split_again(tracker):
    whole = tracker.track(TEXT, entities=["water"])
    assert tracker.track(TEXT.split("\n"), entities=["water"]) == whole
    # A step of two sentences stays one.
    both = tracker.track(["Roots absorb water. The water flows."], entities=["water"])
    assert both.steps == ("Roots absorb water. The water flows.",)


def test_a_text_gives_the_same_grid_alone_and_in_a_batch(tracker):
    example = read_example()
    texts = [(TEXT, ["water", "sugar"]), ("\n".join(example.steps), list(example.names))]
    procedures = [
        Procedure.from_text(text, names, id=str(number))
        for number, (text, names) in enumerate(texts)
    ]
    together = tracker.track_all(procedures)
    for number, (text, names) in enumerate(texts):
        alone = tracker.track(text, names, id=str(number))
        assert alone == tracker.track(text, names, id=str(number))
        for ours, theirs in zip(alone.rows, together[number].rows, strict=True):
            assert ours.locations == theirs.locations
            confidences = [cell.confidence for cell in theirs.steps]
            assert [cell.confidence for cell in ours.steps] == pytest.approx(confidences, abs=1e-4)


def test_an_entity_that_is_never_mentioned_is_tracked_too(tracker):
    grid = tracker.track(TEXT, entities=["oxygen"])
    assert grid["oxygen"].problem is None


@pytest.mark.parametrize(("text", "entities", "message"), [
    ("", ["water"], "empty"),
    (" \n ", ["water"], "empty"),
    (TEXT, [], "No entities"),
    (TEXT, [" "], "empty"),
])  # fmt: skip
def test_empty_input_is_refused(tracker, text, entities, message):
    with pytest.raises(KoalaError, match=message):
        tracker.track(text, entities)


def test_an_ensemble_of_one_tracker_twice_predicts_the_same(tracker):
    joined = join([tracker, tracker])
    grid, alone = joined.track(TEXT, ["water"]), tracker.track(TEXT, ["water"])
    assert grid["water"].locations == alone["water"].locations
    assert grid.signature == f"{alone.signature}+{alone.signature}"


def test_an_overconfident_member_does_not_dominate_an_ensemble(tracker):
    """Its temperatures correct for that."""
    card, hot, flat = (
        replace(tracker.card, calibration=Calibration.with_temperatures(pair).to_dict())
        for pair in ((1.5, 1.0), (6.0, 20.0), (1.5, 1e6))
    )
    plain = Tracker(tracker.scorer, card)
    overconfident = Tracker(lambda items: tracker.scorer(items).with_temperatures(0.25, 0.05), hot)
    found, alone = (
        list(each.find_probabilities([Procedure.from_text(TEXT, ["water"])]))
        for each in (join([overconfident, plain]), join([Tracker(tracker.scorer, card), plain]))
    )
    for step, own in zip(found[0]["tags"], alone[0]["tags"], strict=True):
        assert step == pytest.approx(own, abs=1e-5)
    half_uniform = join([Tracker(tracker.scorer, flat), plain])
    (line,) = half_uniform.find_probabilities([Procedure.from_text(TEXT, ["water"])])
    # Half of the location scores are uniform: the best location gets less probable.
    most, less = (max(each["locations"][0].values()) for each in (alone[0], line))
    assert less < most


def test_a_procedure_without_entities_has_an_empty_grid(tracker):
    some = Procedure.from_text(TEXT, ["water"], id="some")
    none = Procedure.from_text("Hello.", id="none")
    grids = tracker.track_all([none, some, none])
    empty = koala.Grid("none", ("Hello.",), (), tracker.signature, (TextSpan(0, 6),))
    assert grids[0] == grids[2] == empty
    assert grids[1] == tracker.track(TEXT, ["water"], id="some")
    assert [each.grid for each in tracker.explain_all([none, some])] == grids[:2]
    assert tracker.track_all([none]) == [grids[0]]


def test_entities_are_found_for_procedures_without_any(monkeypatch):
    monkeypatch.setattr("koala.discovery.add.find_entities", lambda _, **__: [("leaf",), ()])
    named = Procedure.from_text(TEXT, ["water"], id="named")
    bare = [Procedure.from_text(TEXT, id=id) for id in "ab"]
    found = add_missing_entities([bare[0], named, bare[1]])
    assert [(each.id, [e.name for e in each.entities]) for each in found] == [
        ("a", ["leaf"]), ("named", ["water"]), ("b", []),
    ]  # fmt: skip


def test_the_signature_says_that_triples_are_missing(tracker):
    without = koala.load(has_knowledge=False)
    assert without.card == tracker.card
    expected = f"{tracker.card.signature}|knowledge:none"
    assert without.track(TEXT, ["water"]).signature == expected
    assert without.explain(TEXT, ["water"]).grid.signature == expected
    joined = join([without, without])
    assert joined.signature == f"{joined.card.signature}|knowledge:none"
    # The recipes model reads no triples, so none are missing.
    recipes = koala.load("recipes", has_knowledge=False)
    assert recipes.signature == recipes.card.signature


def test_another_knowledge_store_is_in_the_signature(tracker, tmp_path, monkeypatch):
    triples = tmp_path / "triples.tsv"
    triples.write_text("water\tIsA\tliquid\t2.0\n")
    build_store([triples], tmp_path / "own.store")
    monkeypatch.setenv("KOALA_STORE", str(tmp_path / "own.store"))
    signature = tracker.track(TEXT, ["water"]).signature
    store = Store.open(tmp_path / "own.store")
    assert signature == f"{tracker.card.signature}|knowledge:{store.signature}"


def test_text_that_is_not_unicode_is_refused(tracker):
    for text, entity in (("Water \ud800 boils.", "water"), ("Water boils.", "wat\ud800r")):
        with pytest.raises(KoalaError, match="not Unicode text"):
            tracker.track(text, [entity])
    with pytest.raises(KoalaError, match="not Unicode text"):
        tracker.track(["Water boils.", "\udce9"], ["water"])


def test_every_cell_has_a_reason(tracker):
    explanation = tracker.explain(TEXT, ["water", "sugar"])
    assert explanation.grid == tracker.track(TEXT, ["water", "sugar"])
    for row, reasons in zip(explanation.grid.rows, explanation.reasons, strict=True):
        for cell, reason in zip(row.steps, reasons, strict=True):
            assert sum(reason.actions.values()) == pytest.approx(1, abs=1e-5)
            assert list(reason.locations.values()) == sorted(
                reason.locations.values(), reverse=True
            )
            assert cell.action in reason.actions
    (mention,) = explanation.reasons[0][1].mentions
    assert explanation.grid.steps[1][slice(*mention)] == "water"


def test_found_entities_are_added_to_the_given_ones(tracker, monkeypatch):
    found = [("waters", "the leaf")]
    monkeypatch.setattr("koala.discovery.add.find_entities", lambda _, **__: found)
    assert tracker.track(TEXT).names == ("waters", "the leaf")
    assert tracker.track(TEXT, ["water"], find=True).names == ("water", "the leaf")
    assert tracker.track(TEXT, ["water"]).names == ("water",)


def test_a_single_name_instead_of_a_list_is_refused(tracker):
    with pytest.raises(KoalaError, match=r"entities is 'water'; expected a list of names"):
        tracker.track(TEXT, "water")


def test_entities_that_the_text_never_names_are_found(tracker):
    assert tracker.find_unmentioned(TEXT, ["water", "unicorn"]) == ["unicorn"]
    assert tracker.find_unmentioned(TEXT, ["waters"]) == []


def test_models_with_different_inputs_cannot_be_joined(tracker):
    with pytest.raises(KoalaError, match="koala-small and koala-recipes read texts differently"):
        join([tracker, koala.load("recipes")])


def test_a_model_has_a_short_and_a_long_name():
    assert find_model("small") == find_model("koala-small")


def test_unknown_models_are_refused():
    with pytest.raises(KoalaError, match="Bundled: base, recipes, small"):
        koala.load("large")


def test_bundled_models_are_small_and_have_scores():
    for folder in list_models().values():
        assert measure_size(folder) < 40e6
        assert read_card(folder).scores["f1"] > 0.5


def test_the_scores_of_the_card_are_those_on_dev(tracker, propara):
    corpus = read_corpus(propara).splits["dev"]
    card = read_card(find_model())
    for tracker_used, expected in (
        (tracker, card.scores),
        (tracker.with_decoding("mbr"), card.scores[MBR]),
    ):
        grids = tracker_used.track_all([example.procedure for example in corpus])
        scores = koala.score(grids, {e.procedure.id: e.gold for e in corpus})
        # Samples depend on the last digits, which differ between processors.
        margin = 0.002 if tracker_used is tracker else 0.02
        assert scores.overall.f1 == pytest.approx(expected["f1"], abs=margin)


def test_tracking_never_imports_torch():
    code = (
        "import sys, koala; koala.load().track('Water boils.', entities=['water']); "
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_the_command_line_tracks_the_bundled_example():
    done = subprocess.run(
        [sys.executable, "-m", "koala", "track", "--format", "json"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    grid = koala.Grid.from_dict(json.loads(done.stdout))
    # No entities were given: these were found.
    assert {"water", "coffee"} <= {row.aliases[0] for row in grid.rows}
    assert grid.steps == read_example().steps


def test_a_missing_public_encoder_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("KOALA_CACHE", str(tmp_path))
    with pytest.raises(KoalaError, match="koala encoders fetch mpnet"):
        koala.load("base")


def test_koala_base_attends_to_triples():
    if not is_fetched("mpnet"):
        pytest.skip("MPNet is not fetched: koala encoders fetch mpnet")
    explanation = koala.load("base").explain(TEXT, ["water"])
    assert explanation.grid["water"].problem is None
    for reason in explanation.reasons[0]:
        assert sum(each.weight for each in reason.evidence) == pytest.approx(1, abs=1e-4)
        weights = [each.weight for each in reason.evidence]
        assert weights == sorted(weights, reverse=True)


def test_another_decoding_is_in_the_signature(tracker):
    text = "Roots absorb water. The water flows to the leaf."
    other = tracker.with_decoding("mbr")
    grid = other.track(text, ["water"])
    assert grid.signature == f"{tracker.signature}|decoding:mbr"
    assert all(row.problem is None for row in grid.rows)
    assert tracker.with_decoding("viterbi") is tracker
    twice = join([tracker, tracker]).with_decoding("mbr").track(text, ["water"])
    assert twice["water"].locations == grid["water"].locations
    assert tracker.track(text, ["water"]).signature == tracker.signature
    assert grid == other.track(text, ["water"])


def test_unsupported_decodings_are_refused(tracker):
    recipes = load("recipes")
    with pytest.raises(
        KoalaError, match="not support the decoding 'repair'; choose one of viterbi, mbr"
    ):
        recipes.with_decoding("repair")
    with pytest.raises(KoalaError, match="Unknown decoding 'best'; choose one of viterbi, mbr"):
        tracker.with_decoding("best")
    # Names of earlier versions.
    assert tracker.with_decoding("expected").signature.endswith("|decoding:mbr")
    assert recipes.with_decoding("mbr").with_decoding("together").signature == recipes.signature
