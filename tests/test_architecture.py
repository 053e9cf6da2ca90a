"""Data flows one way: a room may import only what stands before it."""

import ast
from pathlib import Path

import pytest

import koala as package

SOURCE = Path(package.__file__).parent

# Every room and what it may import. The picture in CONTRIBUTING.md says the same.
CORE = {"errors", "files", "kept", "text", "steps", "document", "states", "grid"}
ROOMS = {
    "errors": set(),
    "files": {"errors"},
    "kept": set(),
    "text": {"errors", "kept"},
    "steps": {"errors", "text"},
    "recipe": set(),
    "document": {"errors", "text", "steps"},
    "states": {"errors"},
    "grid": {"errors", "files", "document", "states"},
    "annotators": {"errors", "files", "states", "grid"},
    "corpora": CORE | {"annotators"},
    "settings": {"errors", "files"},
    "processes": {"errors"},
    "encoders": {"errors", "files"},
    "wikipedia": {"errors", "files", "text", "document"},
    "pretraining": CORE | {"settings", "encoders", "knowledge", "model", "processes"},
    "knowledge": CORE | {"encoders"},
    "items": CORE | {"knowledge"},
    "batch": CORE | {"encoders", "items", "knowledge"},
    "decoding": {"errors", "states", "grid"},
    "windows": {"errors", "document", "items", "decoding"},
    "explanation": {"grid", "states"},
    "hints": {"text", "document", "decoding"},
    # What a grid would score: the one thing behind grids that comes before them.
    "consensus": {"decoding", "evaluation", "grid", "states"},
    "prediction": CORE
    | {"batch", "consensus", "decoding", "explanation", "hints", "items", "knowledge"}
    | {"settings", "windows"},
    "participants": CORE | {"encoders"},
    "model": {"errors", "states", "document", "batch", "decoding", "settings", "encoders"},
    "training": CORE
    | {
        "annotators",
        "batch",
        "corpora",
        "decoding",
        "encoders",
        "evaluation",
        "knowledge",
        "model",
        "settings",
    }
    | {"display", "hints", "items", "participants", "prediction", "processes", "runtime"},
    "tracker": CORE
    | {
        "batch",
        "hints",
        "decoding",
        "items",
        "explanation",
        "knowledge",
        "participants",
        "prediction",
        "runtime",
        "settings",
    },
    "runtime": {"errors", "files", "kept", "document", "batch", "decoding", "encoders", "recipe"}
    | {"settings"},
    # Of the text it takes only the stemmer; the labels of the sentence level are files of its own.
    "evaluation": {"annotators", "errors", "files", "text", "document", "states", "grid"},
    "display": {"errors", "document", "states", "grid", "explanation"},
    # Examples written by us, as texts and as grids.
    "examples": {"grid"},
    "cli": CORE
    | {
        "batch",
        "corpora",
        "decoding",
        "evaluation",
        "explanation",
        "display",
        "examples",
        "encoders",
        "knowledge",
        "participants",
        "prediction",
        "pretraining",
        "processes",
        "runtime",
        "scale",
        "settings",
        "tracker",
        "trackers",
        "training",
        "web",
        "wikipedia",
    },
    "trackers": {"runtime", "tracker"},
    "scale": CORE | {"corpora", "runtime", "tracker", "trackers", "wikipedia"},
    "web": CORE | {"display", "examples", "explanation", "runtime", "tracker", "trackers"},
    "__main__": {"cli"},
}
MAY_IMPORT_TORCH = {"model", "pretraining", "processes", "training"}


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
    """The rooms that a file imports from; of the package itself only the version is free."""
    names = {name for name in imports_of(path) if name.startswith("koala.")}
    return {name.split(".")[1] for name in names} - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_arrow_points_upstream(path):
    room = room_of(path)
    assert room in ROOMS, f"{room} is a new room: say here what it may import"
    assert rooms_of(path) <= ROOMS[room] | {room}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_stays_in_its_rooms(path):
    if room_of(path) not in MAY_IMPORT_TORCH:
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
    assert not rooms_of(path) <= ROOMS["states"]
