"""A saved report in a real browser: pointing at a cell, or moving to it by key, marks its words."""

import shutil

import pytest

from koala.display import render_page

from .test_grounding import TEXT, build

sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium; Debian has it")

STYLES = """node => {
  const style = getComputedStyle(node);
  return [style.backgroundColor !== 'rgba(0, 0, 0, 0)', style.textDecorationLine === 'underline'];
}"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_page([build(), build()]), encoding="utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(90_000)
        page.goto(path.as_uri())
        yield page
        browser.close()


def find_marked(page):
    """Give the marked words of all steps, and whether they have a background and a line."""
    words = page.locator(".words")
    found = {}
    for number in range(words.count()):
        has_fill, has_line = words.nth(number).evaluate(STYLES)
        if has_fill or has_line:
            found[words.nth(number).inner_text()] = (has_fill, has_line)
    return found


def test_the_mouse_marks_the_words_of_a_cell(page):
    assert find_marked(page) == {}
    cells = page.locator("#grid-1 tbody tr").first.locator("td")
    cells.nth(1).hover()
    assert find_marked(page) == {"Water": (True, False), "cave": (False, True)}
    cells.nth(0).hover()
    assert find_marked(page) == {"cave": (False, True), "'s <roof>": (False, True)}
    page.locator("#grid-1 tbody th").first.hover()
    assert find_marked(page) == {"Water": (True, False)}
    # The oven is not named in the text.
    cells.nth(2).hover()
    assert find_marked(page) == {}
    # The words of the other grid are its own.
    page.locator("#grid-2 tbody tr").first.locator("td").nth(1).hover()
    assert page.locator("#grid-1 .words").first.evaluate(STYLES) == [False, False]


def test_the_keyboard_does_the_same_and_a_link_leads_to_the_words(page):
    page.mouse.move(0, 0)
    link = page.locator("#grid-1 tbody td a").nth(1)
    link.focus()
    assert find_marked(page) == {"Water": (True, False), "cave": (False, True)}
    page.keyboard.press("Enter")
    assert page.url.endswith("#grid-1-l1")
    assert TEXT.count("cave") == 1
