"""The page in a real browser: what users do with it, and what hostile texts cannot do."""

import json
import re

import pytest

from koala.registry import Trackers

from .browsing import cell, needs_browser, paste, save, serving, sync_api, texts
from .fake import FakeTracker

pytestmark = needs_browser

TEXT = "Rain fills the sea.\nThe sun lifts 💧 water into the air."
RECIPE = "Beat the eggs with sugar.\nPour the batter into a pan.\nBake it in the oven."
SCRIPT = "<script>window.hit=1</script>"
IMAGE = "<img/src=x/onerror=window.hit=2>"


@pytest.fixture(scope="module")
def tracker():
    return FakeTracker()


@pytest.fixture(scope="module")
def url(tracker):
    with serving(Trackers.single(tracker)) as url:
        yield url


@pytest.fixture(scope="module")
def both_url():
    """Serve two models."""
    signatures = {"small": "small|1", "recipes": "recipes|1"}
    with serving(Trackers(signatures, lambda name: FakeTracker(name=name))) as url:
        yield url


def test_track_explain_export_and_link_with_the_bundled_model(served, open_page):
    page = open_page(served.url)
    lines = "Roots absorb water from the soil.\nThe water flows to the leaf.\nThe leaf makes sugar."
    paste(page, lines, "water", "sugar")
    assert texts(page, "tbody th") == ["water", "sugar"]
    assert texts(page, "#steps li") == lines.split("\n")

    cell(page, 1, 2).click()
    reason = page.get_by_role("region", name="sugar, step 3")
    assert "created at" in reason.inner_text()
    assert reason.locator("mark.entity").all_inner_texts() == ["sugar"]
    # The location is marked, too, if the step names it.
    place = cell(page, 1, 2).locator(".place").inner_text()
    named = [place] if place in lines.split("\n")[2] else []
    assert reason.locator("mark.location").all_inner_texts() == named
    assert texts(page, ".reason .bar-label")[0].startswith("created")
    sync_api.expect(page.get_by_role("img", name=re.compile("Process graph"))).to_be_visible()

    download = save(page, "JSON")
    grid = json.loads(download.path().read_text("utf-8"))
    assert [entity["name"] for entity in grid["entities"]] == ["water", "sugar"]

    page.get_by_role("button", name="Copy link").click()
    page.wait_for_url("**/#input=*")
    again = open_page(page.url)
    assert cell(again, 1, 2).inner_text() == cell(page, 1, 2).inner_text()
    assert again.get_by_label("Procedure").input_value() == lines
    assert texts(again, ".chip .name") == ["water", "sugar"]
    again.get_by_label("Procedure").fill("Something else.")
    again.wait_for_url(f"{served.url}/")


def test_a_click_on_a_cell_shows_its_reason(url, open_page):
    page = open_page(url)
    paste(page, TEXT)
    cell(page, 0, 1).click()
    reason = page.get_by_role("region", name="water, step 2")
    assert "moved from sea to air" in reason.inner_text()
    # The mention follows a character that JavaScript counts as two.
    assert reason.locator("mark").all_inner_texts() == ["water"]
    actions, locations, triples = (
        column.locator("li").all_text_contents()
        for column in reason.locator(".bars-line > div").all()
    )
    assert actions[0] == "moved (chosen)75%"
    assert actions[1:] == ["nothing happens15%", "created7%", "destroyed3%"]
    assert locations == ["air (chosen)80%", "an unknown location20%"]
    assert triples == ["water can be found in sea70%", "water is a thing30%"]
    assert page.locator("#steps .current").inner_text() == TEXT.split("\n")[1]


def test_entities_are_found_added_renamed_and_removed(url, open_page, tracker):
    page = open_page(url)
    paste(page, TEXT)
    assert texts(page, ".chip .name") == ["water", "leaf"]

    def change(*names):
        sync_api.expect(page.locator("tbody th")).to_have_text(names)
        assert tracker.calls[-1][1] == list(names)

    page.get_by_label("Add an entity").fill("sun")
    page.get_by_label("Add an entity").press("Enter")
    change("water", "leaf", "sun")
    page.get_by_role("button", name="leaf, rename").click()
    page.get_by_label("New name of leaf").fill("rain; drops")
    page.get_by_label("New name of leaf").press("Enter")
    change("water", "rain; drops", "sun")
    page.get_by_role("button", name="Remove water").click()
    change("rain; drops", "sun")
    page.keyboard.press("Enter")  # the focus has moved to the next chip
    change("sun")
    page.get_by_role("button", name="Find entities").click()
    sync_api.expect(page.locator("tbody th")).to_have_text(["sun", "water", "leaf"])
    assert tracker.calls[-1][1:3] == (["sun"], True)


def test_the_model_is_chosen_by_the_text_or_by_the_user(both_url, open_page):
    page = open_page(both_url)
    choice = page.get_by_label("Read as")

    def read_by(model, label):
        sync_api.expect(choice.locator("option:checked")).to_have_text(label)
        assert json.loads(save(page, "JSON").path().read_text("utf-8"))["signature"] == f"{model}|1"

    paste(page, RECIPE, "eggs")
    read_by("recipes", "automatic (recipe)")
    choice.focus()
    page.keyboard.type("process")
    sync_api.expect(page.get_by_role("status")).to_contain_text("1 entity")
    read_by("small", "process")

    page.get_by_role("button", name="Copy link").click()
    page.wait_for_url("**/#input=*")
    again = open_page(page.url)
    again.locator("tbody th").wait_for()
    assert again.get_by_label("Read as").input_value() == "small"

    choice.select_option("auto")
    sync_api.expect(choice.locator("option:checked")).to_have_text("automatic (recipe)")
    page.get_by_label("Procedure").fill(TEXT)
    assert choice.locator("option:checked").inner_text() == "automatic"
    page.get_by_role("button", name="Track").click()
    read_by("small", "automatic (process)")


def test_with_one_model_there_is_no_choice(url, open_page):
    page = open_page(url)
    paste(page, RECIPE, "eggs")
    assert page.get_by_label("Read as").is_hidden()


def test_the_grid_works_with_keyboard_and_screen_reader(url, open_page):
    page = open_page(url)
    paste(page, TEXT, "rain", "sun")
    assert page.get_by_role("grid", name="Grid").is_visible()
    heard = page.get_by_role("gridcell", name="created at sea, 75% confident")
    assert heard.count() == 2
    # The grid is a single stop of the Tab key.
    assert page.locator('td[tabindex="0"]').count() == 1
    heard.first.focus()
    for key, row, step in [
        ("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("Home", 1, -1), ("ArrowUp", 0, -1),
        ("ArrowUp", 0, -1), ("ArrowLeft", 0, -1), ("Control+End", 1, 1),
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert cell(page, row, step).evaluate("cell => cell === document.activeElement"), key
    page.keyboard.press("Enter")
    assert page.get_by_role("region", name="sun, step 2").is_visible()
    assert page.locator('td[aria-selected="true"]').count() == 1
    assert cell(page, 1, 1).get_attribute("aria-selected") == "true"
    page.get_by_label("Procedure").press("Control+End")
    page.keyboard.type("\nIt ends there.")
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator("#steps li")).to_have_text([*TEXT.split("\n"), "It ends there."])


def test_every_export(url, open_page):
    page = open_page(url)
    paste(page, TEXT, "water")
    for label, ending, start in [
        ("JSON", "json", "{"), ("TSV", "tsv", "1\t1\twater"), ("CSV", "csv", "paragraph,"),
        ("HTML", "html", "<!DOCTYPE"), ("Mermaid", "mmd", "flowchart"), ("DOT", "dot", "digraph"),
        ("SVG", "svg", "<svg"),
    ]:  # fmt: skip
        download = save(page, label)
        assert download.suggested_filename == f"1.{ending}"
        assert download.path().read_text("utf-8").startswith(start)


def test_hostile_text_is_shown_as_text(url, open_page, tmp_path):
    page = open_page(url)
    name, location = f"name {SCRIPT}{IMAGE}", f"{IMAGE}{SCRIPT.replace(' ', '')}"
    lines = f"It goes to {location}\n{SCRIPT} {IMAGE} then to {location}"
    paste(page, lines, name)
    cell(page, 0, 1).click()
    page.get_by_role("region", name=f"{name}, step 2").wait_for()
    assert texts(page, "tbody th") == [name]
    assert cell(page, 0, 0).locator(".place").inner_text() == location
    assert page.locator("#steps li").nth(1).inner_text() == lines.split("\n")[1]
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 1
    assert page.evaluate("window.hit") is None

    again = page.url
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_url("**/#input=*")
    assert page.url != again
    linked = open_page(page.url)
    linked.locator("tbody th").wait_for()
    assert linked.evaluate("window.hit") is None

    for label, ending in (("HTML", "html"), ("SVG", "svg")):
        path = tmp_path / f"export.{ending}"
        save(page, label).save_as(path)
        exported = open_page(path.as_uri(), strict=False)
        assert exported.evaluate("window.hit") is None
        assert exported.locator("script, img").count() == 0
        assert "window.hit" in exported.locator("body, svg").first.text_content()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The text is empty"),
        ("Go.\nmistake", "Internal server error"),
        ("Go.\n" + "a" * 1001, "limit"),
    ],
)
def test_errors_are_shown(url, open_page, text, message):
    page = open_page(url, strict=False)
    page.get_by_label("Procedure").fill(text)
    page.get_by_role("button", name="Track").click()
    sync_api.expect(page.get_by_role("alert")).to_contain_text(message)
    paste(page, TEXT)
    assert page.get_by_role("alert").is_hidden()


def test_broken_and_too_long_links_are_reported(url, open_page):
    page = open_page(f"{url}/#input=!!!")
    sync_api.expect(page.get_by_role("alert")).to_contain_text("The link is broken")
    page.get_by_label("Procedure").fill("long " * 4000)
    page.get_by_role("button", name="Copy link").click()
    sync_api.expect(page.get_by_role("alert")).to_contain_text("too long for a link")


def test_one_click_tracks_an_example(url, open_page):
    page = open_page(url)
    page.get_by_role("button", name="How a coffee maker brews").click()
    sync_api.expect(page.locator("tbody th").first).to_have_text("water")
    assert page.get_by_label("Procedure").input_value().startswith("You pour cold water")
    assert save(page, "CSV").suggested_filename == "How-a-coffee-maker-brews.csv"


@pytest.mark.parametrize(
    ("width", "scheme", "color"),
    [
        (1280, "light", "rgb(255, 255, 255)"),
        (1280, "dark", "rgb(21, 24, 28)"),
        (360, "light", "rgb(255, 255, 255)"),
    ],
)
def test_the_page_fits_the_screen_in_both_themes(url, open_page, width, scheme, color, tmp_path):
    page = open_page(url, viewport={"width": width, "height": 800}, color_scheme=scheme)
    long = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 2
    paste(page, "\n".join([f"Then it goes to {long}"] * 12), "water", long)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == color
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cell(page, 0, 11).click()
    box = cell(page, 0, 11).bounding_box()
    assert box["x"] + box["width"] <= width
    picture = tmp_path / "page.png"
    page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 10_000


def test_the_api_reference(url, open_page):
    """Swagger UI runs under the content security policy, offline, and can try a request."""
    page = open_page(f"{url}/docs")
    for path in ("/api/track", "/api/export", "/api/examples", "/api/health"):
        page.locator(f'[data-path="{path}"]').wait_for()
    page.locator('[data-path="/api/health"]').click()
    page.get_by_role("button", name="Execute").click()
    sync_api.expect(page.locator(".live-responses-table")).to_contain_text('"status": "ok"')
