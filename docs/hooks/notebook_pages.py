"""A notebook as a Markdown page: its texts, its code and the outputs that are stored in it."""

import base64
from pathlib import Path
from typing import Any

import nbformat


def render_notebook(path: Path) -> str:
    """Render a notebook; outputs are shown as they are stored, nothing is run."""
    notebook = nbformat.read(path, as_version=4)
    parts = [_render_cell(cell) for cell in notebook.cells]
    note = f"This page is the notebook `examples/{path.name}`; a test runs it."
    title, *rest = parts[0].split("\n", 1)
    return "\n\n".join([title, f"*{note}*", *rest, *parts[1:]])


def _render_cell(cell: Any) -> str:  # noqa: ANN401
    if cell.cell_type == "markdown":
        return str(cell.source)
    if cell.cell_type != "code":
        return ""
    outputs = [_render_output(output) for output in cell.outputs]
    return "\n\n".join([f"```python\n{cell.source}\n```", *filter(None, outputs)])


def _render_output(output: Any) -> str:  # noqa: ANN401
    if output.output_type == "stream":
        return _fence(output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    if "text/html" in data:
        lines = [line for line in data["text/html"].splitlines() if line.strip()]
        return '<div class="output">\n' + "\n".join(lines) + "\n</div>"
    if "image/svg+xml" in data:
        code = base64.b64encode(data["image/svg+xml"].encode()).decode()
        return f'<img alt="Output of the cell" src="data:image/svg+xml;base64,{code}">'
    if "image/png" in data:
        return f'<img alt="Output of the cell" src="data:image/png;base64,{data["image/png"]}">'
    return _fence(data["text/plain"]) if "text/plain" in data else ""


def _fence(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
