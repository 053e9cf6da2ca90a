"""Worker processes: they end with their parent, and only the parent handles Ctrl-C."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


def end_with_parent() -> None:
    """End this process as soon as its parent ends, even if that is killed by SIGKILL."""
    Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block SIGINT, so that processes started in this context ignore Ctrl-C.

    A terminal sends the signal to the whole process group.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
