"""The reference of the command line, from the commands themselves."""

import re
from collections.abc import Iterator

import click
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


def _walk(group: click.Command, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in getattr(group, "commands", {}).items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from _walk(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _render(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## {path}", "", f"```\n{path} {usage}\n```", "", _clean(command.help), ""]
    if rows := [_row(param, context) for param in command.params if _is_shown(param)]:
        lines += ["| argument or option | meaning |", "|---|---|", *rows, ""]
    if command.epilog:
        example = command.epilog.removeprefix("Example: ")
        lines += ["```console", *(f"$ {line.strip()}" for line in example.splitlines()), "```", ""]
    return "\n".join(lines)


def _is_shown(param: click.Parameter) -> bool:
    return not getattr(param, "hidden", False) and param.name != "help"


def _row(param: click.Parameter, context: click.Context) -> str:
    name, *_ = param.get_help_record(context) or (param.name, "") if _is_option(param) else ("",)
    if not _is_option(param):
        name = param.make_metavar(context)
    meaning = _clean(getattr(param, "help", None)).replace("\n", " ")
    if note := _find_default(param):
        meaning = f"{meaning} {note}"
    return f"| `{_escape(name)}` | {_escape(meaning)} |"


def _is_option(param: click.Parameter) -> bool:
    return param.param_type_name == "option"


def _find_default(param: click.Parameter) -> str:
    default = param.default
    if param.required:
        return "Required."
    if default is None or default == "" or isinstance(default, bool) or callable(default):
        return ""
    return f"Default: `{getattr(default, 'value', default)}`."


def _clean(text: str | None) -> str:
    """Remove the escapes of the terminal's markup."""
    return re.sub(r"\\(?=\[)", "", text or "").replace("\b", "").strip()


def _escape(text: str) -> str:
    return text.replace("|", "\\|")
