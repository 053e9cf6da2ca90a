"""Worker processes: they end with the one that has started them, and leave Ctrl-C to it."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


def end_with_parent() -> None:
    """End this process as soon as its parent has ended, even by a kill that nobody can catch."""
    Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Start processes that never hear Ctrl-C, which a terminal sends to all of them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
