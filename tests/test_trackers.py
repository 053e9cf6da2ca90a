"""Which tracker reads a text, and when it is opened."""

import pytest

from koala.trackers import Trackers

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
def test_the_one_that_is_named_or_that_fits(both, model, content, name):
    assert both.choose(model, content).card.name == name


def test_each_is_opened_once_and_only_if_it_is_needed(both, opened):
    assert both.choices == ("auto", "small", "recipes")
    assert opened == []
    first = both.choose("auto", PROCESS)
    assert opened == ["small"]
    both.choose("auto", RECIPE)
    assert both.choose("small", RECIPE) is first
    assert opened == ["small", "recipes"]


@pytest.mark.parametrize("name", ["koala-small", "koala-recipes", "mine"])
def test_one_alone_reads_everything(name):
    tracker = FakeTracker(name=name)
    alone = Trackers.alone(tracker)
    assert alone.choices == ("auto", name.removeprefix("koala-"))
    assert alone.choose("auto", RECIPE) is alone.choose("auto", PROCESS) is tracker
