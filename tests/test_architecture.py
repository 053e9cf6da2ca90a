"""Imports point one way: every package imports exactly the packages that are listed here."""

import ast
import re
from pathlib import Path

import pytest

import koala

SOURCE = Path(koala.__file__).parent
CONTRIBUTING = SOURCE.parents[1] / "CONTRIBUTING.md"

# Every package or module under koala, lowest first, and those it imports. CONTRIBUTING.md has the
# same table.
# ruff: noqa: E501
PACKAGES = {
    "cache": "",
    "errors": "",
    "files": "errors",
    "text": "cache errors",
    "document": "errors text",
    "encoders": "errors files",
    "settings": "errors files",
    "discovery": "document encoders errors files text",
    "grid": "document errors files",
    "bundled": "grid",
    "corpora": "document errors files grid text",
    "display": "document errors files grid",
    "knowledge": "cache document encoders errors files grid text",
    "evaluation": "corpora document errors files grid text",
    "inputs": "cache document encoders errors grid knowledge",
    "network": "cache document encoders errors files grid inputs settings",
    "decoding": "document errors grid network text",
    "tasks": "corpora decoding errors evaluation grid network settings",
    "inference": "decoding document errors files grid inputs knowledge network settings tasks",
    "tracker": "decoding discovery document errors grid inference inputs knowledge network settings tasks text",
    "training": "corpora decoding discovery display document encoders errors evaluation files grid inference inputs knowledge network settings tasks text",
    "pretraining": "document encoders errors files knowledge network settings text training",
    "registry": "bundled errors inference inputs network text tracker training",
    "bulk": "corpora discovery document errors files grid pretraining registry text tracker",
    "integrations": "errors evaluation grid inference registry",
    "web": "bundled corpora display errors grid registry text",
    "cli": "bulk bundled corpora decoding discovery display document encoders errors evaluation files grid inference integrations knowledge network pretraining registry settings text tracker training web",
    "__main__": "cli",
}
MAY_IMPORT_TORCH = ("network/torch", "pretraining", "training")


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports_of(path: Path) -> set[str]:
    """Every module that a file names in an import, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write koala.… in full"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def packages_of(path: Path) -> set[str]:
    """The packages that a file imports from; the version may be imported anywhere."""
    names = {name for name in imports_of(path) if name.startswith("koala.")}
    return {name.split(".")[1] for name in names} - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_arrow_points_upstream(path):
    package = package_of(path)
    assert package in PACKAGES, f"{package} is a new package: list its imports here"
    assert packages_of(path) <= {*PACKAGES[package].split(), package}


def test_every_listed_arrow_exists_and_points_down():
    found = {package: set() for package in PACKAGES}
    for path in FILES:
        found[package_of(path)] |= packages_of(path) - {package_of(path)}
    assert {package: " ".join(sorted(names)) for package, names in found.items()} == PACKAGES
    order = list(PACKAGES)
    for package, names in found.items():
        assert all(order.index(name) < order.index(package) for name in names), package


def test_the_table_in_contributing_is_the_same():
    rows = [f"| `{package}` | {names} |" for package, names in PACKAGES.items()]
    text = CONTRIBUTING.read_text("utf-8")
    assert "\n".join(rows) in text, "copy the table: " + "\n".join(rows)


def test_the_tree_in_contributing_names_every_package_and_nothing_else():
    text = CONTRIBUTING.read_text("utf-8")
    tree = text[text.index("src/koala/\n") : text.index("tests/  ")]
    words = [word for line in tree.splitlines()[1:] for word in re.split(r"\s{2,}", line)]
    found = {
        word.rstrip("/").removesuffix(".py") for word in words if re.fullmatch(r"\w+(/|\.py)", word)
    }
    assert found == set(PACKAGES) - {"__main__"}


def test_files_named_in_contributing_exist():
    text = CONTRIBUTING.read_text("utf-8")
    where = text[text.index("## Where is …") : text.index("## Words")]
    names = re.findall(r"`([a-z_/]+\.py)`(?:, `(\w+)`)?", where)
    assert len(names) > 5
    for name, definition in names:
        assert definition in (SOURCE / name).read_text("utf-8"), (name, definition)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_stays_in_its_packages(path):
    if not str(path.relative_to(SOURCE).as_posix()).startswith(MAY_IMPORT_TORCH):
        roots = {name.split(".")[0] for name in imports_of(path)}
        assert not roots & {"torch", "transformers", "accelerate"}


@pytest.mark.parametrize(
    ("code", "package"),
    [
        ("def f():\n    from koala.cli import main", "cli"),
        ("from koala import render", "render"),
        ("import koala.attic", "attic"),
        ("from koala import attic", "attic"),
    ],
)
def test_the_check_can_fail(tmp_path, code, package):
    path = tmp_path / "bad.py"
    path.write_text(code)
    assert package in packages_of(path)
    assert not packages_of(path) <= set(PACKAGES["grid"].split())
