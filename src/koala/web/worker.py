"""A worker thread that runs one job at a time, with a bounded queue."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, TypeVar

T = TypeVar("T")
IsWanted = Callable[[], bool]
"""Long jobs call this to find out whether a client still waits for the result."""


class QueueFullError(Exception):
    """The queue is full."""


class StoppedError(Exception):
    """The worker is stopped and accepts no more jobs."""


class TooSlowError(Exception):
    """The job was not finished within its time limit."""


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
    """Runs jobs in order in a single thread, so that they need no locks of their own.

    Python cannot stop a thread in the middle of a computation. A cancelled job leaves the queue at
    once if it has not begun; otherwise it runs until it calls `is_wanted` or ends, and its result
    is dropped. The limits on requests bound how long that takes.
    """

    def __init__(self, n_waiting: int, *, name: str = "worker") -> None:
        self._n_waiting = n_waiting
        self._queue: deque[_Job] = deque()
        self._change = Condition()
        self._is_busy = False
        self._is_stopped = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of jobs in the queue."""
        return len(self._queue)

    async def do(self, work: Callable[[IsWanted], T], *, seconds: float) -> T:
        """Run work in the thread and give its result; cancelling the caller frees its slot."""
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
        """Accept no more jobs: queued ones fail with StoppedError, the running one finishes."""
        with self._change:
            self._is_stopped = True
            jobs = list(self._queue)
            self._queue.clear()
            self._change.notify()
        for job in jobs:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(StoppedError())

    def _add(self, work: Callable[[IsWanted], Any]) -> _Job:
        job = _Job(work)
        with self._change:
            if self._is_stopped:
                raise StoppedError
            if len(self._queue) + self._is_busy > self._n_waiting:
                raise QueueFullError
            self._queue.append(job)
            self._change.notify()
        return job

    def _drop(self, job: _Job) -> None:
        job.is_wanted = False
        with self._change:
            if job in self._queue:
                self._queue.remove(job)

    def _run(self) -> None:
        while job := self._take():
            if job.future.set_running_or_notify_cancel():
                job.run()
            # Free the text and its result now: the wait for the next job may be long.
            del job

    def _take(self) -> _Job | None:
        with self._change:
            self._is_busy = False
            self._change.wait_for(lambda: self._queue or self._is_stopped)
            if self._is_stopped:
                return None
            self._is_busy = True
            return self._queue.popleft()
