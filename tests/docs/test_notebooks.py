"""The notebooks of examples/ run from the first to the last cell, and their outputs are stored."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="needs nbclient")
pytest.importorskip("ipykernel", reason="needs ipykernel")

import nbformat

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
sys.path.insert(0, str(ROOT / "benchmarks"))

import notebooks  # noqa: E402


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, monkeypatch):
    pytest.importorskip("pandas")
    if path.stem == "researcher" and not importlib.util.find_spec("torch"):
        pytest.skip("needs torch")
    # The kernel imports the koala that is tested.
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    run = notebooks.run_notebook(path)
    errors = [o for cell in run.cells for o in cell.get("outputs", ()) if o.output_type == "error"]
    assert not errors


def test_there_are_two_with_outputs():
    assert [path.stem for path in NOTEBOOKS] == ["practitioner", "researcher"]
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert any(cell.get("outputs") for cell in cells)


def test_messages_and_versions_are_not_stored():
    output = nbformat.v4.new_output("stream", name="stderr", text="slow")
    kept = nbformat.v4.new_output("stream", name="stdout", text="fast")
    cell = nbformat.v4.new_code_cell("1", outputs=[output, kept], metadata={"time": 1})
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"version": "3.11"})
    stripped = notebooks.strip(notebook)
    assert stripped.cells[0].outputs == [kept]
    assert stripped.cells[0].metadata == {}
    assert "version" not in stripped.metadata
