"""The documentation site: it builds without warnings, has pictures and loads nothing."""

import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

mkdocs = pytest.importorskip("mkdocs.commands.build", reason="needs MkDocs: the extra docs")
pytest.importorskip("material", reason="needs MkDocs Material: the extra docs")

from mkdocs.config import load_config  # noqa: E402

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "hooks"))

import commands  # noqa: E402
import links  # noqa: E402

LOADING = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src")}
"""Attributes whose address a browser fetches without being asked; links of text are not."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    # Strict: a broken link or a missing docstring is an error.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        mkdocs.build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    return folder


class Loaded(HTMLParser):
    """Collects the addresses that a page loads, and its pictures."""

    def __init__(self):
        super().__init__()
        self.addresses, self.pictures = [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.addresses += [values[name] for kind, name in LOADING if kind == tag and name in values]
        if tag == "img":
            self.pictures.append(values)


def read_page(path):
    found = Loaded()
    found.feed(path.read_text())
    return found


def test_nothing_is_loaded_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        outside = [url for url in read_page(page).addresses if re.match(r"(https?:)?//", url)]
        assert not outside, page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet


def test_every_page_of_the_four_parts_has_a_picture_with_a_description(site):
    for part in ("tutorial", "how-to", "explanation", "reference"):
        pages = list((site / part).glob("*.html"))
        assert len(pages) > 2
        for page in pages:
            pictures = read_page(page).pictures
            assert pictures, page
            for picture in pictures:
                assert picture.get("alt"), page
                assert picture["src"].startswith("data:") or (page.parent / picture["src"]).exists()


def test_every_picture_is_shown_somewhere():
    texts = "".join(path.read_text() for path in [ROOT / "README.md", *DOCS.rglob("*.md")])
    texts += (DOCS / "hooks" / "commands.py").read_text()
    for picture in (DOCS / "pictures").iterdir():
        assert picture.name in texts, picture


def test_the_reference_has_the_docstrings_and_the_help(site):
    python = (site / "reference" / "python.html").read_text()
    assert "Track entities through a text, or through a list of steps." in python
    help = (site / "reference" / "command-line.html").read_text()
    assert "Location that is known to be right" in help
    assert 'id="koala-data-stats"' in help
    # Names of earlier versions are hidden.
    assert "train-participants" not in help


def test_links_to_files_outside_the_site_become_text():
    pages = {"docs/a/b.md": "a/b.md", "results/README.md": "results/README.md"}
    text = (
        "[b](b.md#x) [r](../../results/) [code](../../src/x.py) [w](https://w.org)\n"
        "```\n[b](b.md)\n```\n[b](b.md)"
    )
    assert links.rewrite_links(text, "docs/a/c.md", pages.get, "a/c.md") == (
        "[b](b.md#x) [r](../results/README.md) code [w](https://w.org)\n"
        "```\n[b](b.md)\n```\n[b](b.md)"
    )


def test_bars_in_the_help_do_not_break_the_table():
    lines = commands.render_commands().splitlines()
    rows = [line for line in lines if "<table\\|json" in line]
    assert rows
    assert all(row.replace("\\|", "").count("|") == 3 for row in rows)


def test_the_search_works_in_pages_that_are_opened_as_files(site):
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("needs Chromium; Debian has it")
    requests = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.locator(".md-search__input").first.click()
        page.keyboard.type("fix a cell")
        link = page.locator(".md-search-result__item a[href*='how-to/fix-a-cell.html']").first
        sync_api.expect(link).to_be_visible(timeout=90_000)
        browser.close()
    assert all(url.startswith(("file:", "data:", "blob:")) for url in requests)
