"""The page in a browser: first paint, time from a click to the grid, and what axe-core finds.

    python benchmarks/page.py --times 10 -o results/runs

Starts `koala serve` and Chromium (headless), and opens the page in a fresh context each time. All
times are measured inside the page, in milliseconds:

first_paint      from the start of the navigation to the first contentful paint
first_grid       from a click on Track to the frame that shows the grid, for the first track of each
                 example after the server's start, when models and tables are loaded
grid             the same for every later click
fixed_grid       from the choice in the menu of a cell to the frame that shows the new grid

After each grid, after the fix and at the end in every other tab, axe-core looks for violations of
its rules of accessibility, in light and in dark colours. Writes a JSON file of a run for each kind
of time and one for accessibility. Needs Playwright, axe-core and Chromium. Run it on an idle
machine.
"""

import argparse
import datetime
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from record_scores import read_commit

from koala.bundled.examples import list_examples, read_example
from koala.files import write_text

MEASURED = {
    "first_paint": "first contentful paint",
    "first_grid": "click on Track to grid, first time after the start",
    "grid": "click on Track to grid",
    "fixed_grid": "choice in a cell's menu to the new grid",
}

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


def open_page(browser, url, **options):
    context = browser.new_context(**options)
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


def find_violations(browser, url):
    """Check the page with axe-core in several states; give how many, and all violations."""
    found = []
    for scheme in ("light", "dark"):
        for name in list_examples():
            page, _ = open_page(browser, url, color_scheme=scheme)
            found.append(check(page))
            time_grid(page, read_example(name))
            found.append(check(page))
            time_fix(page)
            found.append(check(page))
            for tab in page.get_by_role("tab").all()[1:]:
                if tab.is_visible():
                    tab.click()
                    found.append(check(page))
            page.context.close()
    return len(found), [each for state in found for each in state]


def check(page):
    # An animation that is under way would change the colours that axe measures.
    page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
    return [each["id"] for each in Axe().run(page).response["violations"]]


def write_run(folder, name, order, about, scores, browser):
    run = {
        "name": name,
        "group": "page" if "n" in scores else "page-accessibility",
        "order": order,
        "model": about,
        "settings": browser,
        "commit": read_commit(),
        "seed": None,
        "decoding": "Viterbi",
        "signature": "",
        "scores": scores,
        "command": ["python benchmarks/page.py --times 10 -o results/runs"],
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "status": "measured",
    }
    write_text(folder / f"{name}.json", json.dumps(run, indent=2, ensure_ascii=False) + "\n")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=10, help="rounds after the first")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the JSON files")
    given = parser.parse_args(arguments)
    given.output.mkdir(parents=True, exist_ok=True)
    process, url = start_server()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            times = measure(browser, url, given.times)
            n_states, violations = find_violations(browser, url)
            version = f"Chromium {browser.version}"
            browser.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    for order, (name, own) in enumerate(times.items()):
        scores = summarize(own)
        write_run(given.output, f"page-{name}", order, MEASURED[name], scores, version)
        print(name, json.dumps(scores))
    scores = {"states": n_states, "violations": len(violations)}
    write_run(given.output, "page-axe", 0, "axe-core", scores, version)
    print("axe", json.dumps(scores), *sorted(set(violations)))


if __name__ == "__main__":
    main()
