"""Which tracker is chosen for a text, and when it is opened."""

from functools import partial

import pytest

from koala.errors import KoalaError
from koala.knowledge.conceptnet import build_store
from koala.knowledge.store import Store
from koala.registry import Trackers, load, sign_knowledge

from .web.fake import FakeTracker

RECIPE = "Beat the eggs with sugar.\nPour the batter into a pan.\nBake it in the oven."
PROCESS = "Rain fills the sea.\nThe sun lifts water into the air."


@pytest.fixture
def opened():
    return []


@pytest.fixture
def both(opened):
    def open(name):
        opened.append(name)
        return FakeTracker(name=name)

    return Trackers({"small": "small|1", "recipes": "recipes|1"}, open)


@pytest.mark.parametrize(
    ("model", "content", "name"),
    [
        ("auto", RECIPE, "recipes"),
        ("auto", RECIPE.split("\n"), "recipes"),
        ("auto", PROCESS, "small"),
        ("auto", [], "small"),
        ("small", RECIPE, "small"),
        ("recipes", PROCESS, "recipes"),
    ],
)
def test_the_named_tracker_or_the_one_that_fits_the_text(both, model, content, name):
    assert both.choose(model, content).card.name == name


def test_each_tracker_is_opened_once_and_only_if_needed(both, opened):
    assert both.choices == ("auto", "small", "recipes")
    assert opened == []
    first = both.choose("auto", PROCESS)
    assert opened == ["small"]
    both.choose("auto", RECIPE)
    assert both.choose("small", RECIPE) is first
    assert opened == ["small", "recipes"]


@pytest.mark.parametrize("name", ["koala-small", "koala-recipes", "mine"])
def test_a_single_tracker_is_used_for_every_text(name):
    tracker = FakeTracker(name=name)
    alone = Trackers.single(tracker)
    assert alone.choices == ("auto", name.removeprefix("koala-"))
    assert alone.choose("auto", RECIPE) is alone.choose("auto", PROCESS) is tracker


def test_signatures_are_those_of_the_grids():
    trackers = Trackers.bundled(partial(load, has_knowledge=False))
    tracker = trackers.choose("auto", PROCESS)
    assert trackers.signatures["small"] == tracker.signature != tracker.card.signature
    assert Trackers.single(tracker).signatures == {"small": tracker.signature}


def test_the_signature_of_knowledge(tmp_path, monkeypatch):
    own = Store.open().signature
    assert sign_knowledge("small") == f"knowledge:{own}"
    assert sign_knowledge("small", has_knowledge=False) == "knowledge:none"
    assert sign_knowledge("auto") == f"knowledge:{own} | knowledge:none"
    source = tmp_path / "in.tsv"
    source.write_text("head\trelation\ttail\nleaf\tPartOf\tplant\n")
    build_store([source], tmp_path / "my.store")
    monkeypatch.setenv("KOALA_STORE", str(tmp_path / "my.store"))
    other = Store.open().signature
    assert sign_knowledge("small") == f"knowledge:{other}" != f"knowledge:{own}"
    monkeypatch.setenv("KOALA_STORE", str(tmp_path / "none"))
    with pytest.raises(KoalaError, match="no such store"):
        sign_knowledge("small")
    assert sign_knowledge("recipes") == "knowledge:none"
