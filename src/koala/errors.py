"""Errors that tell a user what is wrong, what was expected and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path


class KoalaError(Exception):
    """A user's mistake in the input or the call; the command line prints it and exits with 2."""


class FileError(KoalaError):
    """A file that cannot be used, with its path and the line if it is known.

    >>> print(FileError("p.tsv", "this file is empty", line=1))
    p.tsv, line 1: this file is empty
    """

    def __init__(self, path: str | Path, problem: str, *, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        # Needed to send the error between processes: by default, unpickling passes the message
        # alone to the constructor.
        return partial(FileError, line=self.line), (self.path, self.problem)


DISTRIBUTION = "koala-tracker"
"""The name under which koala is installed; on PyPI, koala is another project."""


def install_command(extra: str) -> str:
    """Give the command that installs an extra in the way in which koala was installed.

    An installation from a folder or a file is repeated from there; uv and pipx are used if they
    installed koala.
    """
    import json
    import shlex
    import sys
    from importlib import metadata
    from urllib.parse import unquote, urlsplit

    try:
        found = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    source = unquote(urlsplit(url).path) if url.startswith("file:") else DISTRIBUTION
    what = shlex.quote(f"{source}[{extra}]") if url else f"'{source}[{extra}]'"
    if origin.get("dir_info", {}).get("editable"):
        what = f"--editable {what}"
    if "pipx" in Path(sys.prefix).parts:
        return f"pipx install --force {what}"
    tool = "uv pip" if (found.read_text("INSTALLER") or "").strip() == "uv" else "pip"
    return f"{tool} install {what}"


@contextmanager
def needs_extra(extra: str, activity: str) -> Iterator[None]:
    """Turn an import that fails in the block into an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise KoalaError(
            f"{activity} needs {error.name}, which is not installed. "
            f"Install it with: {install_command(extra)}"
        ) from None
