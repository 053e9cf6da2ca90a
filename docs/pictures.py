"""The pictures of the README, made by koala itself.

python docs/pictures.py        # needs koala[web], Playwright and Debian's Chromium
"""

import shutil
import tempfile
from pathlib import Path
from threading import Thread

from playwright.sync_api import sync_playwright

from koala.cli.serve import open_trackers
from koala.display import render_page
from koala.examples import read_example
from koala.grid import Grid
from koala.runtime.models import DEFAULT, RECIPES
from koala.tracker import load
from koala.web.app import build_app
from koala.web.server import Server, open_socket, url_of

HERE = Path(__file__).parent


def main() -> None:
    """Draw the grid, the graph and the page of the bundled example, and two recipes."""
    grid = track("coffee", DEFAULT)
    opened = open_socket("127.0.0.1", 0)
    server = Server(build_app(open_trackers(None, has_knowledge=True)))
    thread = Thread(target=server.run, args=([opened],))
    thread.start()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 1000})
        report = Path(folder, "report.html")
        report.write_text(render_page([grid]), encoding="utf-8")
        page.goto(report.as_uri())
        page.locator("table").first.screenshot(path=HERE / "grid.png")
        page.locator("svg").first.screenshot(path=HERE / "graph.png")
        for name in ("pancakes", "soup"):
            report.write_text(render_page([track(name, RECIPES)]), encoding="utf-8")
            page.goto(report.as_uri())
            page.locator("table").first.screenshot(path=HERE / f"{name}.png")
        page.goto(url_of(opened))
        page.locator("#examples button").first.click()
        page.locator("#track").click()
        page.locator("#grid td.move").first.click()
        page.wait_for_timeout(3000)
        page.screenshot(
            path=HERE / "page.png",
            clip={"x": 0, "y": 0, "width": 1100, "height": 1720},
            full_page=True,
        )
        browser.close()
    server.should_exit = True
    thread.join()


def track(name: str, model: str) -> Grid:
    """Track the named entities of a bundled example."""
    example = read_example(name)
    return load(model).track(list(example.steps), list(example.names), id=example.id)


if __name__ == "__main__":
    main()
