"""A thread that does one thing at a time, and the short line before it."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, TypeVar

T = TypeVar("T")
IsWanted = Callable[[], bool]
"""Asked during long work: whether anyone still waits for it."""


class LineFullError(Exception):
    """As many wait as may."""


class StoppedError(Exception):
    """The worker takes nothing on any more."""


class TooSlowError(Exception):
    """The time was up before the work was done."""


class _Job:
    def __init__(self, work: Callable[[IsWanted], Any]) -> None:
        self.work = work
        self.future: Future[Any] = Future()
        self.is_wanted = True

    def run(self) -> None:
        try:
            self.future.set_result(self.work(lambda: self.is_wanted))
        except BaseException as error:
            self.future.set_exception(error)


class Worker:
    """Runs work in the order it came; what it uses is used by one thread alone.

    Python cannot stop a thread in the middle of a computation. Work that nobody waits for any more
    leaves the line at once; work that has begun goes on until it asks `is_wanted` or ends, and its
    result is dropped. How long that takes is bounded by what a request may ask for.
    """

    def __init__(self, n_waiting: int, *, name: str = "worker") -> None:
        self._n_waiting = n_waiting
        self._line: deque[_Job] = deque()
        self._change = Condition()
        self._is_busy = False
        self._is_stopped = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._line)

    async def do(self, work: Callable[[IsWanted], T], *, seconds: float) -> T:
        """Do work in the thread; if the caller is cancelled, its place is free again."""
        job = self._add(work)
        try:
            async with asyncio.timeout(seconds) as time:
                result: T = await asyncio.wrap_future(job.future)
                return result
        except TimeoutError:
            if time.expired():
                raise TooSlowError from None
            raise
        finally:
            self._drop(job)

    def stop(self) -> None:
        """Take nothing on any more; who waits is told so, who is being served is served."""
        with self._change:
            self._is_stopped = True
            jobs = list(self._line)
            self._line.clear()
            self._change.notify()
        for job in jobs:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(StoppedError())

    def _add(self, work: Callable[[IsWanted], Any]) -> _Job:
        job = _Job(work)
        with self._change:
            if self._is_stopped:
                raise StoppedError
            if len(self._line) + self._is_busy > self._n_waiting:
                raise LineFullError
            self._line.append(job)
            self._change.notify()
        return job

    def _drop(self, job: _Job) -> None:
        job.is_wanted = False
        with self._change:
            if job in self._line:
                self._line.remove(job)

    def _run(self) -> None:
        while job := self._take():
            if job.future.set_running_or_notify_cancel():
                job.run()
            # The next wait may be long: the text and its answer are not kept meanwhile.
            del job

    def _take(self) -> _Job | None:
        with self._change:
            self._is_busy = False
            self._change.wait_for(lambda: self._line or self._is_stopped)
            if self._is_stopped:
                return None
            self._is_busy = True
            return self._line.popleft()
