"""Imports point one way: every room imports exactly the rooms that are listed here."""

import ast
from pathlib import Path

import pytest

import koala as package

SOURCE = Path(package.__file__).parent
CONTRIBUTING = SOURCE.parents[1] / "CONTRIBUTING.md"

# Every room, lowest first, and the rooms it imports. CONTRIBUTING.md has the same table.
# ruff: noqa: E501
ROOMS = {
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
    "integrations": "document errors evaluation grid registry",
    "web": "bundled display errors grid registry text",
    "cli": "bulk bundled corpora decoding discovery display document encoders errors evaluation files grid inference integrations knowledge network pretraining registry settings text tracker training web",
    "__main__": "cli",
}
MAY_IMPORT_TORCH = ("network/torch", "pretraining", "training")


def room_of(path: Path) -> str:
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


def rooms_of(path: Path) -> set[str]:
    """The rooms that a file imports from; the version may be imported anywhere."""
    names = {name for name in imports_of(path) if name.startswith("koala.")}
    return {name.split(".")[1] for name in names} - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_arrow_points_upstream(path):
    room = room_of(path)
    assert room in ROOMS, f"{room} is a new room: list its imports here"
    assert rooms_of(path) <= {*ROOMS[room].split(), room}


def test_every_listed_arrow_exists_and_points_down():
    found = {room: set() for room in ROOMS}
    for path in FILES:
        found[room_of(path)] |= rooms_of(path) - {room_of(path)}
    assert {room: " ".join(sorted(names)) for room, names in found.items()} == ROOMS
    order = list(ROOMS)
    for room, names in found.items():
        assert all(order.index(name) < order.index(room) for name in names), room


def test_the_table_in_contributing_is_the_same():
    rows = [f"| `{room}` | {names} |" for room, names in ROOMS.items()]
    text = CONTRIBUTING.read_text("utf-8")
    assert "\n".join(rows) in text, "copy the table: " + "\n".join(rows)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_stays_in_its_rooms(path):
    if not str(path.relative_to(SOURCE).as_posix()).startswith(MAY_IMPORT_TORCH):
        roots = {name.split(".")[0] for name in imports_of(path)}
        assert not roots & {"torch", "transformers", "accelerate"}


@pytest.mark.parametrize(
    ("code", "room"),
    [
        ("def f():\n    from koala.cli import main", "cli"),
        ("from koala import render", "render"),
        ("import koala.attic", "attic"),
        ("from koala import attic", "attic"),
    ],
)
def test_the_check_can_fail(tmp_path, code, room):
    path = tmp_path / "bad.py"
    path.write_text(code)
    assert room in rooms_of(path)
    assert not rooms_of(path) <= set(ROOMS["grid"].split())
