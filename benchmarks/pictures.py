"""Make the pictures of the documentation with the bundled models. Needs Playwright and Chromium.

python benchmarks/pictures.py [NAME…] [--output docs/pictures]
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread

from playwright.sync_api import expect, sync_playwright
from terminal import render_terminal, run_command

from koala.registry import Trackers, load
from koala.web.app import build_app
from koala.web.limits import Limits
from koala.web.server import Server, open_socket, url_of

ROOT = Path(__file__).parents[1]
MILLISECONDS = 900_000  # enough for a busy machine

GRIDS = {
    "grid": "How a coffee maker brews",
    "pancakes": "Pancakes",
    "soup": "Tomato soup",
}
ENTITIES = "--entity lysate --entity ethanol --entity DNA"

TERMINALS = {
    "help": ["koala --help"],
    "track": ["koala track"],
    "explain": ["koala track --entity water --entity coffee --explain"],
    "models": ["koala models"],
    "fix": [
        f"koala track prep.txt {ENTITIES}",
        f"koala track prep.txt {ENTITIES} --fix 'lysate@3=spin column'",
    ],
    "locations": ["koala track --view locations"],
    "steps": ["koala track --view steps"],
    "timeline": ["koala track --view timeline"],
    "agent": ["python agent.py"],
    "batch": [
        "koala batch procedures.jsonl -o grids.jsonl",
        "koala show grids.jsonl",
    ],
    "changes": [
        "koala predict --corpus written --input corpus/wet-lab.txt -o grids.jsonl",
        "koala evaluate grids.jsonl --gold corpus/wet-lab.txt --level changes",
    ],
    "document": [
        "koala predict --corpus written --input corpus/wet-lab.txt -o grids.jsonl",
        "koala predict --corpus written --input corpus/wet-lab.txt --decoding mbr -o mbr.jsonl",
        "koala evaluate mbr.jsonl --gold corpus/wet-lab.txt --compare grids.jsonl",
    ],
    "implied": ["koala track cycler.txt --entity tube --entity DNA"],
    "knowledge": ["koala knowledge retrieve prep.txt --entity ethanol"],
}
"""Picture → the commands that it shows. They run one after the other in a folder of examples."""

LINES = {"fix": 8}
"""Pictures that show the first lines of each output alone."""

CYCLER = "Pipette the DNA into the tube.\nClose the tube.\nPut the tube into the cycler.\n"


def track(page, title):
    page.click(f"#examples >> text={title}")
    page.wait_for_selector("#chips li")
    page.click("#track")
    expect(page.locator("#status")).to_contain_text("entities", timeout=MILLISECONDS)
    page.wait_for_selector("#graph svg")


def shoot_page(page, url, folder):
    """Take the pictures of the page that `koala serve` shows, and of the description of its API."""
    for name, title in GRIDS.items():
        page.goto(url)
        track(page, title)
        page.locator("#grid table").screenshot(path=folder / f"{name}.png")
        if name == "grid":
            page.locator("#graph svg").screenshot(path=folder / "graph.png")
    page.goto(url)
    track(page, "How a limestone cave grows")
    page.locator("#grid tbody tr").first.locator("td").nth(2).click()
    page.wait_for_selector("#reason h3, #reason h2")
    page.screenshot(path=folder / "page.png")
    page.goto(f"{url.rstrip('/')}/docs")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=folder / "api.png", clip={"x": 0, "y": 0, "width": 1100, "height": 800})


@contextmanager
def serve() -> Iterator[str]:
    opened = open_socket("127.0.0.1", 0)
    trackers = Trackers.bundled(partial(load, n_threads=2))
    server = Server(build_app(trackers, Limits(seconds=MILLISECONDS / 1000)))
    thread = Thread(target=server.run, args=([opened],))
    thread.start()
    try:
        yield url_of(opened)
    finally:
        server.should_exit = True
        thread.join()


def copy_examples(folder):
    """Put the texts that the commands read into a folder."""
    for path in (ROOT / "examples").glob("*.*"):
        shutil.copy(path, folder)
    shutil.copytree(ROOT / "corpus" / "dev", folder / "corpus")
    (folder / "cycler.txt").write_text(CYCLER)


def shoot_terminal(page, name, folder):
    with tempfile.TemporaryDirectory() as here:
        copy_examples(Path(here))
        html = render_terminal(TERMINALS[name], here, columns=110, lines=LINES.get(name))
    shoot_html(page, html, "pre", folder / f"{name}.png")


def shoot_html(page, html, selector, path):
    page.set_content(html)
    page.locator(selector).first.screenshot(path=path)


def shoot_spacy(page, folder):
    """Show the mentions of the entities in a document of spaCy."""
    import spacy
    from spacy import displacy

    nlp = spacy.blank("en")
    nlp.add_pipe("koala")
    doc = nlp((ROOT / "examples" / "prep.txt").read_text())
    html = displacy.render(doc, style="span", page=True, options={"spans_key": "koala"})
    shoot_html(page, html, "figure", folder / "spacy.png")


def shoot_recipe(page, folder):
    """Show what a recipe combines with what, as the page of `--view recipe`."""
    words = "--model recipes --entity flour --entity sugar --entity 'baking powder' --entity butter"
    command = f"koala track cake.txt {words} --entity eggs --view recipe --format html"
    with tempfile.TemporaryDirectory() as here:
        copy_examples(Path(here))
        html = run_command(command, here)
    shoot_html(page, html, "table", folder / "recipe.png")


def shoot_reasons(page, folder):
    """Show the reasons of a report: confidences, triples and attention."""
    with tempfile.TemporaryDirectory() as here:
        copy_examples(Path(here))
        html = run_command(f"{TERMINALS['explain'][0]} --format html", here)
    shoot_html(page, html, "body", folder / "report.png")


def shoot_frame(page, folder):
    """Show a grid as a data frame, as a notebook shows it."""
    from koala.grid.frames import to_frame

    text = (ROOT / "examples" / "prep.txt").read_text()
    frame = to_frame(load().track(text, ["lysate", "DNA"]))
    style = "<style>table{border-collapse:collapse;font:14px sans-serif}td,th{padding:4px 10px;"
    style += "text-align:left;border-bottom:1px solid #ddd}</style>"
    html = style + frame.drop(columns="text").to_html(border=0, float_format="{:.2f}".format)
    shoot_html(page, html, "table", folder / "frame.png")


OTHERS = {
    "spacy": shoot_spacy,
    "recipe": shoot_recipe,
    "report": shoot_reasons,
    "frame": shoot_frame,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = ["page", *TERMINALS, *OTHERS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "pictures")
    args = parser.parse_args()
    if unknown := set(args.names) - set(names):
        parser.error(f"unknown pictures: {', '.join(sorted(unknown))}")
    wanted = args.names or names
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 1720})
        page.set_default_timeout(MILLISECONDS)
        for name in wanted:
            if name in TERMINALS:
                shoot_terminal(page, name, args.output)
            elif name in OTHERS:
                OTHERS[name](page, args.output)
        if "page" in wanted:
            with serve() as url:
                shoot_page(page, url, args.output)
        browser.close()


if __name__ == "__main__":
    main()
