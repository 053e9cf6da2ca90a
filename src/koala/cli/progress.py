"""Progress of long work, on stderr."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from koala.cli.output import is_main


@contextmanager
def show_progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that is told how much of how much is done; the bar comes with its first call.

    Where stderr is no terminal, or another process draws, nothing is drawn.
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
    console = Console(stderr=True)
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
    task = bar.add_task(label, visible=False)

    def tell(done: int, total: int) -> None:
        if not bar.live.is_started and console.is_terminal and is_main():
            bar.start()
        bar.update(task, completed=done, total=total, visible=True)

    try:
        yield tell
    finally:
        if bar.live.is_started:
            bar.stop()
