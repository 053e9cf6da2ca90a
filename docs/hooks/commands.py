"""The reference of the command line, from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

import typer.main

from koala.cli import app

_INTRODUCTION = """\
# Command line

All commands follow the same rules. Data goes to stdout, messages and progress go to stderr. The \
exit code is 0 if all went well, 2 if the input or the call was wrong, 1 if anything else failed. \
`-o` writes to a temporary file and renames it. This page is made from the help of the commands; \
`koala COMMAND --help` prints the same.

![The help of the command line in a terminal](../pictures/help.png)
"""


def render_commands() -> str:
    """Render all visible commands as one Markdown page."""
    group = typer.main.get_command(app)
    sections = [_render(command, f"koala {path}") for path, command in _walk(group)]
    return "\n".join([_INTRODUCTION, *sections])


def _walk(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from _walk(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _render(command: Any, path: str) -> str:  # noqa: ANN401
    context = command.context_class(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## {path}", "", f"```\n{path} {usage}\n```", "", _clean(command.help or ""), ""]
    records = [param.get_help_record(context) for param in command.params if param.name != "help"]
    if rows := [_render_row(*record) for record in records if record]:
        lines += ["| argument or option | meaning |", "|---|---|", *rows, ""]
    if command.epilog:
        lines += [*_render_example(command.epilog), ""]
    return "\n".join(lines)


def _render_row(name: str, meaning: str) -> str:
    # The type of an argument is a name of Python, which tells a user little.
    shown = name if name.startswith("-") else re.sub(r" <.*>$", "", name)
    return f"| `{_escape(shown)}` | {_escape(_clean(meaning))} |"


def _render_example(epilog: str) -> list[str]:
    """Show a command as code, and an example that is a sentence as a sentence."""
    example = _clean(epilog).removeprefix("Example: ")
    if not example.startswith("koala"):
        return [_clean(epilog)]
    return ["```console", *(f"$ {line.strip()}" for line in example.splitlines()), "```"]


def _clean(text: str) -> str:
    """Remove the escapes of the terminal's markup."""
    return re.sub(r"\\(?=\[)", "", text).replace("\b", "").strip()


def _escape(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
