"""Cells of the page that a user fixes: menu, decoding, undo, link; and examples to save."""

import pytest

from koala.corpora.written import read_examples
from koala.grid.states import Action
from koala.registry import Trackers

from .browsing import cell, needs_browser, paste, save, serving, sync_api, texts
from .fake import FakeTracker

pytestmark = needs_browser

TEXT = "Rain fills the sea.\nThe sun lifts water into the air.\nIt falls on the ground."


@pytest.fixture(scope="module")
def tracker():
    return FakeTracker()


@pytest.fixture(scope="module")
def url(tracker):
    with serving(Trackers.single(tracker)) as url:
        yield url


@pytest.fixture
def page(open_page, url):
    # An answer that is refused is logged by the browser itself.
    page = open_page(url, strict=False)
    paste(page, TEXT, "water", "rain")
    return page


def choose(page, row, step, *labels):
    """Open the menu of a cell and press one button after the other."""
    cell(page, row, step).click()
    for label in labels:
        page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()


def wait_for_fixes(page, number):
    wanted = f"{number} cell{'s' * (number > 1)} fixed." if number else "No cell is fixed."
    sync_api.expect(page.locator("#fixes-count")).to_have_text(wanted)
    # The count changes with the answer; the grid is drawn before it.
    sync_api.expect(page.locator("#result")).not_to_have_attribute("aria-busy", "true")


def shown(page, row):
    """Give the locations of a row, before step 1 and after every step."""
    return [each.strip() for each in texts(page, f"#grid tbody tr:nth-child({row + 1}) .place")]


@pytest.mark.parametrize(
    ("step", "labels", "said"),
    [
        (1, ["unchanged"], Action.NONE),
        (1, ["destroyed"], Action.DESTROY),
        (1, ["does not exist"], "-"),
        (1, ["created at …", "where it fits best"], Action.CREATE),
        (1, ["created at …", "sea"], (Action.CREATE, "sea")),
        (1, ["moved to …", "ground"], (Action.MOVE, "ground")),
        (1, ["at another location …", "an unknown location 20%"], "?"),
        (-1, ["does not exist"], "-"),
        (-1, ["at another location …", "air"], "air"),
    ],
)
def test_each_choice_is_sent_and_shown(page, tracker, step, labels, said):
    choose(page, 0, step, *labels)
    wait_for_fixes(page, 1)
    assert tracker.fixes[-1] == {("water", step + 1): said}
    fixed = cell(page, 0, step)
    assert "fixed by you" in fixed.get_attribute("aria-label")
    assert fixed.locator(".confidence").inner_text() == "fixed"
    assert page.locator("#grid td.fixed").count() == 1
    # The keyboard is where it was.
    assert fixed.evaluate("cell => cell === document.activeElement")


def test_a_typed_location_and_what_follows(page, tracker):
    choose(page, 0, 0, "at another location …")
    page.get_by_label("Another location").fill("  puddle ")
    page.keyboard.press("Enter")
    wait_for_fixes(page, 1)
    assert shown(page, 0) == ["-", "puddle", "air", "ground"]
    choose(page, 0, 1, "destroyed")
    wait_for_fixes(page, 2)
    assert shown(page, 0) == ["-", "puddle", "", ""]
    sync_api.expect(page.get_by_role("status")).to_contain_text("1 other cell changed")
    assert page.locator("#grid .changed").count() == 2
    # A second fix of a cell takes the place of the first; one can be taken away.
    choose(page, 0, 1, "unchanged")
    sync_api.expect(cell(page, 0, 1)).to_contain_text("puddle")
    assert tracker.fixes[-1] == {("water", 1): "puddle", ("water", 2): Action.NONE}
    choose(page, 0, 1, "as koala thinks")
    wait_for_fixes(page, 1)
    assert shown(page, 0) == ["-", "puddle", "air", "ground"]


def test_undo_and_clear(page):
    choose(page, 0, 1, "at another location …", "ground")
    wait_for_fixes(page, 1)
    choose(page, 1, 1, "destroyed")
    wait_for_fixes(page, 2)
    page.get_by_role("button", name="Undo").click()
    wait_for_fixes(page, 1)
    assert shown(page, 1) == ["-", "sea", "air", "ground"]
    assert shown(page, 0)[2] == "ground"
    page.get_by_role("button", name="Clear fixes").click()
    wait_for_fixes(page, 0)
    assert shown(page, 0) == ["-", "sea", "air", "ground"]
    page.get_by_role("button", name="Undo").click()
    wait_for_fixes(page, 1)
    cell(page, 0, 0).focus()
    page.keyboard.press("Control+z")
    wait_for_fixes(page, 0)
    assert page.locator("#fixes").is_hidden()


def test_the_keyboard_is_never_lost(page):
    choose(page, 0, 1, "destroyed")
    wait_for_fixes(page, 1)
    page.get_by_role("button", name="Undo").press("Enter")
    wait_for_fixes(page, 0)
    assert cell(page, 0, 1).evaluate("cell => cell === document.activeElement")
    choose(page, 0, 1, "destroyed")
    wait_for_fixes(page, 1)
    page.get_by_role("button", name="Clear fixes").press("Enter")
    wait_for_fixes(page, 0)
    assert cell(page, 0, 1).evaluate("cell => cell === document.activeElement")


def test_a_contradiction_is_told_and_taken_back(page, tracker):
    choose(page, 0, 0, "at another location …", "air")
    wait_for_fixes(page, 1)
    choose(page, 0, 1, "at another location …")
    page.get_by_label("Another location").fill("contradiction")
    page.get_by_role("button", name="Set").click()
    sync_api.expect(page.get_by_role("alert")).to_contain_text("contradict each other")
    wait_for_fixes(page, 1)
    choose(page, 0, 2, "destroyed")
    wait_for_fixes(page, 2)
    assert page.get_by_role("alert").is_hidden()
    assert tracker.fixes[-1] == {("water", 1): "air", ("water", 3): Action.DESTROY}


def test_the_link_restores_fixes_until_the_text_changes(page, url, open_page, tracker):
    choose(page, 0, -1, "at another location …", "sea")
    wait_for_fixes(page, 1)
    choose(page, 1, 1, "moved to …", "ground")
    wait_for_fixes(page, 2)
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_url("**/#input=*")
    again = open_page(page.url)
    wait_for_fixes(again, 2)
    assert [shown(again, row) for row in (0, 1)] == [shown(page, row) for row in (0, 1)]
    assert again.locator("#grid td.fixed").count() == 2
    assert tracker.fixes[-1] == {("water", 0): "sea", ("rain", 2): (Action.MOVE, "ground")}
    # An entity that is no longer tracked has no fixed cells.
    again.get_by_role("button", name="Remove rain").click()
    wait_for_fixes(again, 1)
    assert again.url == page.url
    choose(again, 0, 1, "destroyed")
    again.wait_for_url(f"{url}/")
    wait_for_fixes(again, 2)
    paste(again, TEXT.replace("Rain", "Snow"))
    assert tracker.fixes[-1] == {}
    assert again.locator("#grid td.fixed").count() == 0


def test_links_with_broken_fixes_are_reported(open_page, url):
    script = """fixed => import("/static/link.js").then(
        ({ writeLink }) => writeLink({ text: "Go.", fixed }))"""
    page = open_page(url)
    hashes = [page.evaluate(script, value) for value in ([{"entity": 3, "step": 1}], "water@1=sea")]
    for each in hashes:
        broken = open_page(f"{url}/{each}")
        sync_api.expect(broken.get_by_role("alert")).to_contain_text("The link is broken")


def test_the_menu_with_the_keyboard(page):
    cell(page, 0, 0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    menu = page.get_by_role("dialog", name="water, step 2: what is true?")
    assert menu.is_visible()

    def focused():
        return page.evaluate("document.activeElement.textContent")

    assert focused() == "·unchanged"
    page.keyboard.press("ArrowUp")
    assert focused() == "@at another location …"
    page.keyboard.press("Escape")
    assert menu.is_hidden()
    assert cell(page, 0, 1).evaluate("cell => cell === document.activeElement")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog", name="water is moved to …").is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for_fixes(page, 1)
    # The grid is one stop of the Tab key; what follows is its own.
    page.keyboard.press("Tab")
    assert focused() == "Undo"
    cell(page, 0, 0).click()
    page.get_by_role("heading", name="Result").click()
    assert page.get_by_role("dialog").is_hidden()


def test_a_corrected_grid_is_saved_as_an_example(page, tmp_path):
    choose(page, 0, 0, "at another location …")
    page.get_by_label("Another location").fill("lake")
    page.keyboard.press("Enter")
    wait_for_fixes(page, 1)
    assert page.get_by_label("Title").input_value() == "Rain fills the sea"
    page.get_by_label("Title").fill("How does it rain?")
    page.get_by_label("Field").fill("weather")
    download = save(page, "Save as example")
    assert download.suggested_filename == "How-does-it-rain.txt"
    path = tmp_path / download.suggested_filename
    download.save_as(path)
    assert path.read_text("utf-8").startswith("# [weather] How does it rain?\n1. Rain fills")
    (example,) = read_examples(path)
    assert example.gold.rows[0].locations == ("-", "lake", "air", "ground")
    assert [step.text for step in example.procedure.steps] == TEXT.split("\n")


def test_the_bundled_model_follows_a_fix(served, open_page):
    page = open_page(served.url)
    text = "Fill the kettle with water.\nPut it on the stove.\nPour the water into a cup."
    page.get_by_label("Procedure").fill(text)
    page.get_by_label("Read as").select_option("small")
    paste(page, text, "water")
    before = shown(page, 0)
    assert before[2] != "-"
    choose(page, 0, 1, "destroyed")
    wait_for_fixes(page, 1)
    assert shown(page, 0)[2] == ""
    assert "×" in cell(page, 0, 1).inner_text()
    choose(page, 0, 2, "does not exist")
    wait_for_fixes(page, 2)
    assert shown(page, 0)[2:] == ["", ""]
    page.get_by_role("button", name="Clear fixes").click()
    wait_for_fixes(page, 0)
    assert shown(page, 0) == before
