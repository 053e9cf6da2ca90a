"""The views of the page, and the words of a cell in the text."""

import pytest

from koala.registry import Trackers

from .browsing import cell, needs_browser, paste, serving, sync_api, texts
from .fake import FakeTracker

pytestmark = needs_browser

TEXT = "Rain fills the sea.\n  The 💧 sun lifts water to the sea.\nIt falls on the ground."
SECOND = "The 💧 sun lifts water to the sea."
RECIPE = "Beat the eggs in the bowl.\nPour flour into the bowl.\nBake the batter in the oven."


@pytest.fixture(scope="module")
def url():
    """Serve two models."""
    signatures = {"small": "small|1", "recipes": "recipes|1"}
    with serving(Trackers(signatures, lambda name: FakeTracker(name=name))) as url:
        yield url


def show(page, name):
    page.get_by_role("tab", name=name, exact=True).click()
    panel = page.get_by_role("tabpanel", name=name)
    panel.locator("table, ol").first.wait_for()
    return panel


def test_every_view(url, open_page):
    page = open_page(url)
    paste(page, TEXT, "water", "rain; drops")
    table = show(page, "By location").locator("tr").all()
    assert [row.locator("th, td").all_inner_texts() for row in table] == [
        ["Location", "Before", "1", "2", "3"],
        ["sea", "", "water\nrain", "water\nrain", ""],
        ["ground", "", "", "", "water\nrain"],
    ]
    steps = show(page, "By step").locator("li").all_inner_texts()
    assert steps[2].startswith("Water moves from sea to ground; rain moves from sea to ground.")
    assert "It falls on the ground." in steps[2]
    panel = show(page, "Timeline")
    stays = ["does not exist\nbefore step 1", "sea\nafter steps 1 to 2", "ground\nafter step 3"]
    assert panel.locator("li").all_inner_texts() == stays
    panel.get_by_label("Entity", exact=True).select_option("rain; drops")
    assert panel.locator("li").all_inner_texts() == stays
    assert page.get_by_role("tab", name="Combinations").is_hidden()


def test_a_view_follows_the_grid(url, open_page):
    page = open_page(url)
    paste(page, TEXT, "water", "rain")
    panel = show(page, "Timeline")
    panel.get_by_label("Entity", exact=True).select_option("rain")
    page.get_by_role("tab", name="Grid").click()
    cell(page, 1, 2).click()
    page.get_by_role("button", name="destroyed").click()
    sync_api.expect(page.locator("#fixes-count")).to_have_text("1 cell fixed.")
    panel = show(page, "Timeline")
    sync_api.expect(panel.locator("li").last).to_have_text("does not existafter step 3")
    assert panel.get_by_label("Entity", exact=True).input_value() == "rain"


def test_recipes_have_a_table_of_what_is_combined(url, open_page):
    page = open_page(url)
    paste(page, RECIPE, "eggs", "flour")
    panel = show(page, "Combinations")
    rows = [row.locator("th, td").all_inner_texts() for row in panel.locator("tr").all()]
    assert rows == [["eggs", "1. Beat the eggs in the bowl."], ["flour"]]
    assert panel.locator("td").get_attribute("rowspan") == "2"
    # The tab goes with the recipe; the grid takes its place.
    page.get_by_label("Read as").select_option("small")
    sync_api.expect(page.get_by_role("tab", name="Combinations")).to_be_hidden()
    assert page.get_by_role("tabpanel", name="Grid").is_visible()


def test_tabs_with_the_keyboard(url, open_page):
    page = open_page(url)
    paste(page, TEXT, "water")
    page.get_by_role("tab", name="Grid").focus()
    for key, name in [
        ("ArrowRight", "By location"), ("End", "Timeline"), ("ArrowRight", "Grid"),
        ("ArrowLeft", "Timeline"), ("Home", "Grid"),
    ]:  # fmt: skip
        page.keyboard.press(key)
        tab = page.get_by_role("tab", name=name)
        assert tab.evaluate("tab => tab === document.activeElement")
        assert page.get_by_role("tab", selected=True).inner_text() == name
        assert page.locator('[role="tabpanel"]:not([hidden])').count() == 1
        assert page.locator('[role="tab"][tabindex="0"], [role="tab"]:not([tabindex])').count() == 1


def marked(page):
    return [
        (each.inner_text(), each.get_attribute("class"))
        for each in page.locator("#steps mark").all()
    ]


def test_a_cell_marks_its_words_in_the_text(url, open_page):
    page = open_page(url)
    paste(page, TEXT, "water", "sun")
    cell(page, 0, 1).hover()
    assert marked(page) == [("water", "entity")]
    assert page.locator("#steps .current").inner_text() == SECOND
    cell(page, 1, 1).focus()
    assert marked(page) == [("sun", "entity")]
    cell(page, 0, 2).hover()
    assert marked(page) == []
    page.get_by_role("heading", name="Result").hover()
    assert marked(page) == [("sun", "entity")]
    assert texts(page, "#steps li")[1] == SECOND


@pytest.fixture
def grounded(url, open_page):
    """A page whose grids say where the text names locations; offsets count Unicode characters."""
    sea, bold = TEXT.rindex("sea"), TEXT.rindex("ground")

    def ground(route):
        answer = route.fetch()
        value = answer.json()
        starts = [0, TEXT.index("The"), TEXT.index("It")]
        value["step_spans"] = [
            {"start": start, "end": start + len(step)}
            for start, step in zip(starts, value["steps"], strict=True)
        ]
        (entity,) = value["entities"]
        spans = [{"start": 15, "end": 18}, {"start": sea, "end": sea + 3}, None]
        if value["entities"][0]["steps"][2]["after"] == "ground":
            spans[2] = {"start": bold, "end": bold + 6}
        for step, span in zip(entity["steps"], spans, strict=True):
            step["location_span"] = span
        route.fulfill(response=answer, json=value)

    page = open_page(url)
    page.route("**/api/track", ground)
    paste(page, TEXT, "water")
    return page


def test_the_words_of_a_location_are_marked_where_the_text_has_them(grounded):
    cell(grounded, 0, 1).hover()
    assert marked(grounded) == [("water", "entity"), ("sea", "location")]
    cell(grounded, 0, 0).hover()
    assert marked(grounded) == [("sea", "location")]
    assert grounded.locator("#steps li").first.locator("mark").count() == 1
    cell(grounded, 0, 1).click()
    assert texts(grounded, ".reason mark") == ["water", "sea"]
    cell(grounded, 0, 2).hover()
    assert marked(grounded) == [("ground", "location")]


def test_a_location_that_the_text_does_not_name_is_told(grounded):
    cell(grounded, 0, 2).click()
    assert "does not name" not in grounded.locator("#reason").inner_text()
    grounded.get_by_role("button", name="at another location …").click()
    grounded.get_by_label("Another location").fill("moon")
    grounded.keyboard.press("Enter")
    reason = grounded.locator("#reason")
    sync_api.expect(reason).to_contain_text("The text does not name moon.")


def test_the_bundled_model_says_where_a_location_stands(served, open_page):
    page = open_page(served.url)
    paste(page, "1. **Fill** the kettle with water.\n2. Pour the *water* into a cup.", "water")
    page.get_by_role("tabpanel").locator("td", has_text="cup").last.hover()
    assert ("cup", "location") in marked(page)
