"""Run the notebooks of examples/ and store their outputs in them.

python benchmarks/notebooks.py [NOTEBOOK…]
"""

import argparse
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from koala.files import write_text

EXAMPLES = Path(__file__).parents[1] / "examples"
SECONDS = 1800  # for a cell, on a busy machine


def run_notebook(path):
    """Run all cells in the notebook's folder, with this Python; give it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    # Variables of the environment, such as PYTHONPATH, reach the kernel.
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    return notebook


def strip(notebook):
    """Remove what differs from run to run: times, messages on stderr, the kernel's version."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    for path in parser.parse_args().notebooks or sorted(EXAMPLES.glob("*.ipynb")):
        write_text(path, nbformat.writes(strip(run_notebook(path))) + "\n")
        print(f"Ran {path.name}.")


if __name__ == "__main__":
    main()
