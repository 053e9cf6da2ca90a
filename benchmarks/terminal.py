"""Commands as pictures: run them as a user does, and draw what a terminal would show."""

import io
import os
import pty
import shlex
import subprocess
import sys
import tempfile
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


_KOALA = "import sys; sys.argv[0] = 'koala'; from koala.cli import main; main()"


def run_command(command, folder, columns=100):
    """Run `koala …` or `python …` in a terminal; give what it prints to stdout, with colours."""
    name, *words = shlex.split(command)
    program = [sys.executable] if name == "python" else [sys.executable, "-c", _KOALA]
    environment = {**os.environ, "COLUMNS": str(columns), "PYTHONPATH": _SOURCE, "TERM": "xterm"}
    mine, theirs = pty.openpty()
    with tempfile.TemporaryFile() as messages:
        started = subprocess.Popen(
            [*program, *words], cwd=folder, env=environment, stdout=theirs, stderr=messages
        )
        os.close(theirs)
        output = b"".join(_read(mine))
        if started.wait():
            messages.seek(0)
            raise RuntimeError(f"{command}: {messages.read().decode()}")
    return output.decode().replace("\r\n", "\n")


def _read(terminal):
    """Read until the other side is closed, which Linux reports as an error."""
    try:
        while chunk := os.read(terminal, 65536):
            yield chunk
    except OSError:
        pass
    finally:
        os.close(terminal)


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
