"""A folder to build a file in, beside it: whatever happens, no half of the file is left behind."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from koala.errors import FileError

try:
    import fcntl
except ImportError:  # Windows: what a killed build leaves there is not recognised
    fcntl = None  # type: ignore[assignment]


@contextmanager
def open_workshop(output: Path) -> Iterator[Path]:
    """Make a folder beside the file to be; it is removed in the end, with all that is in it.

    What a killed build of the same file left is removed too; one that still runs is left alone.
    """
    prefix = f".{output.name}.building-"
    try:
        _remove_abandoned(output.parent, prefix)
        folder = Path(tempfile.mkdtemp(dir=output.parent, prefix=prefix))
    except OSError as error:
        raise FileError(output, f"cannot be written ({error.strerror}).") from None
    try:
        with (folder / "lock").open("w") as lock:
            _lock(lock)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for folder in parent.iterdir():
        if not folder.name.startswith(prefix):
            continue
        try:
            with (folder / "lock").open("r+") as lock:
                is_abandoned = _lock(lock)
        except OSError:  # someone is just making it
            continue
        if is_abandoned:
            shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[str]) -> bool:
    """Lock a file if nobody has; the system opens the lock when its process ends, however."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
