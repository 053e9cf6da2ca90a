"""What the tests of the page in a browser share."""

import re
import shutil
from contextlib import contextmanager
from threading import Thread

import pytest

from koala.web.app import build_app
from koala.web.server import Server, open_socket, url_of

sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium; Debian has it")
MILLISECONDS = 90_000  # enough for a busy machine
sync_api.expect.set_options(timeout=MILLISECONDS)


@contextmanager
def serving(trackers):
    """Serve trackers in a thread."""
    opened = open_socket("127.0.0.1", 0)
    server = Server(build_app(trackers))
    thread = Thread(target=server.run, args=([opened],))
    thread.start()
    yield url_of(opened)
    server.should_exit = True
    thread.join()


@contextmanager
def opening(browser):
    """Give a function that opens pages; no page may load from another host or log an error."""
    contexts, wrong = [], []

    def open_page(address, *, strict=True, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        home = re.match(r"http://[^/]+/|file://|about:", f"{address}/")[0]

        def check(request):
            if not request.url.startswith((home, "data:", "blob:")):
                wrong.append(request.url)

        page.on("request", check)
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
        page.on("pageerror", lambda error: wrong.append(str(error)))
        if strict:
            page.on("console", lambda message: wrong.append(message.text))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def paste(page, text, *names):
    page.get_by_label("Procedure").fill(text)
    for name in names:
        page.get_by_label("Add an entity").fill(name)
        page.get_by_label("Add an entity").press("Enter")
    page.get_by_role("button", name="Track").click()
    sync_api.expect(page.get_by_role("status")).to_contain_text("entit")


def cell(page, row, step):
    """Find a cell of the grid; step 0 is the first one, -1 is before it."""
    return page.locator("#grid tbody tr").nth(row).locator("td").nth(step + 1)


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


def save(page, label):
    with page.expect_download() as download:
        page.get_by_role("button", name=label, exact=True).click()
    return download.value
