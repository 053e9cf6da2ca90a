"""Errors a person can act on: what came, what was expected, what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path


class KoalaError(Exception):
    """The input or the call was wrong; the command line shows the message and exits with 2."""


class FileError(KoalaError):
    """A file cannot be used.

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
        # So that it may come from another process: by itself it would be called with its message.
        return partial(FileError, line=self.line), (self.path, self.problem)


@contextmanager
def needs_extra(extra: str, activity: str) -> Iterator[None]:
    """Turn a failed import into an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise KoalaError(
            f"{activity} needs {error.name}, which is not installed. "
            f"Install it with: pip install koala[{extra}]"
        ) from None
