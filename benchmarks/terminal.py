"""Commands as pictures: run them as a user does, and draw what a terminal would show."""

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

_PAGE = """<!DOCTYPE html><meta charset="utf-8">
<style>
body {{ margin: 0; background: #ffffff; width: max-content; }}
pre {{ margin: 0; padding: 16px 20px; font: 15px/1.35 'DejaVu Sans Mono', monospace;
       background: #f7f7f5; border: 1px solid #d8d8d4; border-radius: 8px; }}
{css}
</style>
<pre>{code}</pre>
"""


def run_command(command, folder, columns=100):
    """Run `koala …` or `python …`; give what it prints, with colours, data before messages."""
    name, *words = shlex.split(command)
    program = [sys.executable] if name == "python" else [sys.executable, "-m", name]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(columns), "PYTHONPATH": _SOURCE}
    done = subprocess.run(
        [*program, *words], cwd=folder, env=environment, capture_output=True, check=True
    )
    return done.stdout.decode()


def render_terminal(commands, folder, *, columns=100, lines=None):
    """Give a page with the commands and their output; at most `lines` lines of each."""
    shown = []
    for command in commands:
        output = run_command(command, folder, columns).rstrip()
        kept = output.splitlines()[:lines]
        shown.append("\n".join([f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m", *kept]))
    console = Console(record=True, file=io.StringIO(), width=max(columns, 140))
    console.print(Text.from_ansi("\n\n".join(shown)), soft_wrap=True)
    code = console.export_html(code_format="{stylesheet}\0{code}", inline_styles=False)
    css, code = code.split("\0")
    return _PAGE.format(css=css, code=code)


_SOURCE = os.pathsep.join(
    [str(Path(__file__).parents[1] / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
