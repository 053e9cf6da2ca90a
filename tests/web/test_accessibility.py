"""axe-core finds nothing wrong with the page, in any of its states."""

import pytest

from koala.registry import Trackers

from .browsing import cell, needs_browser, paste, serving
from .fake import FakeTracker

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-core")
pytestmark = needs_browser

RECIPE = "Beat the eggs in the bowl.\nPour flour into the bowl.\nBake the batter in the oven."


@pytest.fixture(scope="module")
def url():
    signatures = {"small": "small|1", "recipes": "recipes|1"}
    with serving(Trackers(signatures, lambda name: FakeTracker(name=name))) as url:
        yield url


def check(page):
    """Fail with what axe says, if it finds anything."""
    # An animation that is under way would change the colours that axe measures.
    page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
    found = axe.Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_no_violations(url, open_page, scheme, width):
    page = open_page(
        url, strict=False, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page.locator("#examples button").first.wait_for()
    check(page)
    page.get_by_role("button", name="Track").click()
    page.get_by_role("alert").wait_for()
    check(page)
    paste(page, RECIPE, "eggs", "flour")
    page.locator("#graph svg").wait_for()
    check(page)
    cell(page, 0, 1).click()
    check(page)
    page.get_by_role("button", name="created at …").click()
    check(page)
    page.get_by_role("button", name="where it fits best").click()
    page.locator("#grid .fixed").wait_for()
    check(page)
    cell(page, 1, -1).click()
    check(page)
    page.keyboard.press("Escape")
    for name in ("By location", "By step", "Timeline", "Combinations"):
        page.get_by_role("tab", name=name).click()
        page.get_by_role("tabpanel", name=name).locator("table, ol").first.wait_for()
        check(page)


def test_axe_finds_a_violation_where_there_is_one(url, open_page):
    page = open_page(url)
    page.evaluate("document.querySelector('label[for=text]').remove()")
    with pytest.raises(AssertionError, match="label"):
        check(page)
