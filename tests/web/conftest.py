"""Clients of an application with a fake tracker, and `koala serve` in a separate process."""

import re
import signal
import subprocess
import sys

import pytest
from fastapi.testclient import TestClient

from koala.registry import Trackers
from koala.web.app import build_app
from koala.web.limits import Limits

from .fake import FakeTracker


@pytest.fixture
def tracker():
    return FakeTracker()


@pytest.fixture
def build(tracker):
    """Give a function that opens a client of an application with given limits."""
    opened = []

    def build(**limits):
        app = build_app(Trackers.single(tracker), Limits(**limits))
        client = TestClient(app, raise_server_exceptions=False)
        opened.append(client.__enter__())
        return opened[-1]

    yield build
    tracker.gate.set()
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(build):
    return build()


class Process:
    """`koala serve` in a separate process, on a given or a free port."""

    def __init__(self, port=0):
        command = [sys.executable, "-m", "koala", "serve", "--port", str(port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.url = re.search(r"http://127\.0\.0\.1:\d+", line)[0]

    def end(self, signal):
        """Send a signal, wait, and give the exit code."""
        self.process.send_signal(signal)
        code = self.process.wait(60)
        self.process.stderr.close()
        return code


@pytest.fixture(scope="session")
def served():
    """Serve the bundled models."""
    process = Process()
    yield process
    if process.process.poll() is None:
        process.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def browser():
    # Not for the session: while Playwright runs, other tests have no event loop of their own.
    from .browsing import CHROMIUM, sync_api

    with sync_api.sync_playwright() as playwright:
        # In a container, the browser's own sandbox often does not work.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Give a function that opens pages; no page may load from another host or log an error."""
    from .browsing import opening

    with opening(browser) as open_page:
        yield open_page
