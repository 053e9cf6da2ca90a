"""Progress bars on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

from koala.cli.output import is_main


class Tell(Protocol):
    """Function that receives the progress of long work."""

    def __call__(self, done: int, total: int, n: int | None = None, /) -> None:
        """Show that `done` of `total` is finished; `n` items so far, to show a rate per second."""


@contextmanager
def show_progress(label: str) -> Iterator[Tell]:
    """Give a function that updates a progress bar; the bar appears with its first call.

    Nothing is drawn if stderr is not a terminal or this is not the main process.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,  # fmt: skip
    )

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    last = (TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, *last, console=console, transient=True)
    task = bar.add_task(label, visible=False, rate="")
    start = monotonic()

    def tell(done: int, total: int, n: int | None = None, /) -> None:
        if not bar.live.is_started and console.is_terminal and is_main():
            bar.start()
        rate = "" if n is None else f"{n / max(monotonic() - start, 1e-9):,.1f}/s"
        bar.update(task, completed=done, total=total, visible=True, rate=rate)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
