"""Hooks of the documentation site: pages that are made while it is built, and links.

Pages come from three more sources than `docs/`: the help of the command line, the notebooks in
`examples/`, and texts of the repository that readers want on the site, such as `results/`.
"""

from pathlib import Path

import commands
import links
import notebook_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

_OTHER_TEXTS = ("results/*.md", "results/*.svg", "corpus/*.md", "configs/*.md", "C*.md")

_NOTEBOOKS = {
    "tutorial/practitioner.md": "examples/practitioner.ipynb",
    "tutorial/researcher.md": "examples/researcher.ipynb",
}
_COMMANDS = "reference/command-line.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    for source in find_other_texts(ROOT):
        path = source.relative_to(ROOT).as_posix()
        files.append(File.generated(config, path, abs_src_path=str(source)))
    for path, notebook in _NOTEBOOKS.items():
        text = notebook_pages.render_notebook(ROOT / notebook)
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, _COMMANDS, content=commands.render_commands()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let links that lead out of `docs/` lead to the pages of the site."""
    uri = page.file.src_uri
    source = _NOTEBOOKS.get(uri) or (uri if (ROOT / uri).exists() else f"docs/{uri}")
    return links.rewrite_links(markdown, source, _place_on_site, uri)


def _place_on_site(path: str) -> str | None:
    """Give the page of a file of the repository, or None if the site does not have it."""
    pages = {notebook: uri for uri, notebook in _NOTEBOOKS.items()}
    if path in pages:
        return pages[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    others = {each.relative_to(ROOT).as_posix() for each in find_other_texts(ROOT)}
    return path if path in others else None


def find_other_texts(root: Path) -> list[Path]:
    """Find the texts outside `docs/` that belong on the site."""
    return [path for pattern in _OTHER_TEXTS for path in sorted(root.glob(pattern))]
