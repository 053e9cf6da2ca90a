"""Speed of the page in a browser: first paint, and time from a click to the grid.

    python benchmarks/page.py [--times 10] > page.json

Starts `koala serve` and Chromium (headless), and opens the page in a fresh context each time. All
times are measured inside the page, in milliseconds:

first_paint      from the start of the navigation to the first contentful paint
first_grid       from a click on Track to the frame that shows the grid, for the first track of each
                 example after the server's start, when models and tables are loaded
grid             the same for every later click
fixed_grid       from the choice in the menu of a cell to the frame that shows the new grid

Needs Playwright and Chromium. Run it on an idle machine.
"""

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys

from playwright.sync_api import sync_playwright

from koala.bundled.examples import list_examples, read_example

PAINT = """() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const paint = list.getEntriesByName("first-contentful-paint")[0];
    if (paint) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true });
})"""

# Clicks the button and waits for the frame after the grid was drawn.
GRID = """(button) => new Promise((resolve) => {
  const start = performance.now();
  const observer = new MutationObserver(() => {
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  });
  observer.observe(document.getElementById("grid"), { childList: true });
  button.click();
})"""


def start_server():
    process = subprocess.Popen(
        [sys.executable, "-m", "koala", "serve", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    return process, re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]


def open_page(browser, url):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(url)
    paint = page.evaluate(PAINT)
    page.locator("#examples button").first.wait_for()
    return page, paint


def time_grid(page, grid):
    page.locator("#text").fill("\n".join(grid.steps))
    for name in grid.names:
        page.locator("#new-entity").fill(name)
        page.locator("#new-entity").press("Enter")
    return page.locator("#track").evaluate(GRID)


def time_fix(page):
    page.locator("#grid tbody td").nth(2).click()
    button = page.get_by_role("dialog").get_by_role("button", name="unchanged", exact=True)
    return button.evaluate(GRID)


def measure(browser, url, n_times):
    times = {"first_paint": [], "first_grid": [], "grid": [], "fixed_grid": []}
    for number in range(n_times + 1):
        for name in list_examples():
            page, paint = open_page(browser, url)
            times["first_paint"].append(paint)
            kind = "grid" if number else "first_grid"
            times[kind].append(time_grid(page, read_example(name)))
            times["fixed_grid"].append(time_fix(page))
            page.context.close()
    return times


def summarize(times):
    ordered = sorted(times)
    return {
        "n": len(times),
        "median_ms": round(statistics.median(times), 1),
        "p90_ms": round(ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))], 1),
        "max_ms": round(max(times), 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=10, help="rounds after the first")
    n_times = parser.parse_args().times
    process, url = start_server()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            times = measure(browser, url, n_times)
            version = browser.version
            browser.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    value = {name: summarize(own) for name, own in times.items()}
    print(json.dumps({"browser": f"Chromium {version}", **value}, indent=2))


if __name__ == "__main__":
    main()
