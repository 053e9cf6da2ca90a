import asyncio
from threading import Event

import pytest

from koala.web.worker import QueueFullError, StoppedError, TooSlowError, Worker


class Gate:
    """Work that signals its start and ends when the test allows it."""

    def __init__(self, answer="done"):
        self.answer = answer
        self.begun, self.may_end = Event(), Event()
        self.was_wanted = None

    def __call__(self, is_wanted):
        self.begun.set()
        assert self.may_end.wait(30)
        self.was_wanted = is_wanted()
        return self.answer


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


def run(n_waiting, test):
    """Run a test with a worker, and stop the worker afterwards."""

    async def whole():
        worker = Worker(n_waiting)
        try:
            async with asyncio.timeout(60):
                await test(worker)
        finally:
            worker.stop()

    asyncio.run(whole())


def start(worker, gate, seconds=60.0):
    return asyncio.ensure_future(worker.do(gate, seconds=seconds))


def test_jobs_run_in_order():
    async def test(worker):
        order = []
        jobs = [worker.do(lambda _, n=n: order.append(n), seconds=30) for n in range(5)]
        await asyncio.gather(*jobs)
        assert order == [0, 1, 2, 3, 4]

    run(5, test)


def test_an_error_reaches_the_caller_and_the_worker_continues():
    def fail(_):
        raise TimeoutError("mine")

    async def test(worker):
        with pytest.raises(TimeoutError, match="mine"):
            await worker.do(fail, seconds=30)
        assert await worker.do(lambda _: 1, seconds=30) == 1

    run(1, test)


def test_a_full_queue_refuses_jobs():
    async def test(worker):
        gates = [Gate(n) for n in range(3)]
        tasks = [start(worker, gate) for gate in gates]
        await until(lambda: gates[0].begun.is_set() and worker.waiting == 2)
        with pytest.raises(QueueFullError):
            await worker.do(Gate(), seconds=30)
        for gate in gates:
            gate.may_end.set()
        assert await asyncio.gather(*tasks) == [0, 1, 2]
        assert await worker.do(lambda _: "again", seconds=30) == "again"

    run(2, test)


def test_a_cancelled_job_frees_its_slot_and_never_runs():
    async def test(worker):
        first, second, third = Gate(), Gate(), Gate()
        serving, waiting = start(worker, first), start(worker, second)
        await until(lambda: first.begun.is_set() and worker.waiting == 1)
        waiting.cancel()
        await until(waiting.done)
        assert worker.waiting == 0
        last = start(worker, third)
        await until(lambda: worker.waiting == 1)
        first.may_end.set()
        third.may_end.set()
        await asyncio.gather(serving, last)
        assert not second.begun.is_set()

    run(1, test)


def test_a_queued_job_past_its_time_leaves_the_queue():
    async def test(worker):
        first, second = Gate(), Gate()
        serving = start(worker, first)
        await until(first.begun.is_set)
        with pytest.raises(TooSlowError):
            await worker.do(second, seconds=0.01)
        assert worker.waiting == 0
        first.may_end.set()
        await serving
        assert not second.begun.is_set()

    run(4, test)


def test_a_running_job_past_its_time_is_unwanted_and_later_jobs_run():
    async def test(worker):
        slow = Gate()
        task = start(worker, slow, seconds=0.2)
        await until(slow.begun.is_set)
        with pytest.raises(TooSlowError):
            await task
        after = asyncio.ensure_future(worker.do(lambda _: "served", seconds=30))
        await until(lambda: worker.waiting == 1)
        slow.may_end.set()
        assert await after == "served"
        assert slow.was_wanted is False

    run(1, test)


def test_a_stopped_worker_fails_queued_jobs_and_finishes_the_running_one():
    async def test(worker):
        first, second = Gate(), Gate()
        serving, waiting = start(worker, first), start(worker, second)
        await until(lambda: first.begun.is_set() and worker.waiting == 1)
        worker.stop()
        with pytest.raises(StoppedError):
            await waiting
        with pytest.raises(StoppedError):
            await worker.do(Gate(), seconds=30)
        first.may_end.set()
        assert await serving == "done"

    run(3, test)
