"""Temporary folder in which a file is built, so that no half-written file is left behind."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from koala.errors import FileError
from koala.files import try_lock


@contextmanager
def open_build_folder(output: Path) -> Iterator[Path]:
    """Create a temporary folder beside the output file; delete it at the end.

    Folders left by killed builds of the same file are deleted too, but not those of running builds.
    """
    prefix = f".{output.name}.building-"
    try:
        _remove_abandoned(output.parent, prefix)
        folder = Path(tempfile.mkdtemp(dir=output.parent, prefix=prefix))
    except OSError as error:
        raise FileError(output, f"cannot be written ({error.strerror}).") from None
    try:
        with (folder / "lock").open("w") as lock:
            try_lock(lock)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for folder in parent.iterdir():
        if not folder.name.startswith(prefix):
            continue
        try:
            with (folder / "lock").open("r+") as lock:
                is_abandoned = try_lock(lock)
        except OSError:  # another process is creating it
            continue
        if is_abandoned:
            shutil.rmtree(folder, ignore_errors=True)
