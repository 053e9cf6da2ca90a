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


@contextmanager
def needs_extra(extra: str, activity: str) -> Iterator[None]:
    """Turn an import that fails in the block into an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise KoalaError(
            f"{activity} needs {error.name}, which is not installed. "
            f"Install it with: pip install koala[{extra}]"
        ) from None
