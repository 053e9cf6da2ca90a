"""Make the pictures of the README with the bundled models. Needs Playwright and Chromium.

python benchmarks/pictures.py [--output docs]
"""

import argparse
import shutil
from functools import partial
from pathlib import Path
from threading import Thread

from playwright.sync_api import expect, sync_playwright

from koala.registry import Trackers, load
from koala.web.app import build_app
from koala.web.server import Server, open_socket, url_of

GRIDS = {
    "grid": "How a coffee maker brews",
    "pancakes": "Pancakes",
    "soup": "Tomato soup",
}


def track(page, title):
    page.click(f"#examples >> text={title}")
    page.wait_for_selector("#chips li")
    page.click("#track")
    expect(page.locator("#status")).to_contain_text("entities", timeout=120_000)
    page.wait_for_selector("#graph svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("docs"))
    folder = parser.parse_args().output
    opened = open_socket("127.0.0.1", 0)
    server = Server(build_app(Trackers.bundled(partial(load, n_threads=2))))
    thread = Thread(target=server.run, args=([opened],))
    thread.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1100, "height": 1720})
            page.set_default_timeout(120_000)
            for name, title in GRIDS.items():
                page.goto(url_of(opened))
                track(page, title)
                page.locator("#grid table").screenshot(path=folder / f"{name}.png")
                if name == "grid":
                    page.locator("#graph svg").screenshot(path=folder / "graph.png")
            page.goto(url_of(opened))
            track(page, "How a limestone cave grows")
            page.locator("#grid tbody tr").first.locator("td").nth(2).click()
            page.wait_for_selector("#reason h3, #reason h2")
            page.keyboard.press("Escape")  # closes the menu of the cell
            page.screenshot(path=folder / "page.png")
            browser.close()
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
