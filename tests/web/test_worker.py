import asyncio
from threading import Event

import pytest

from koala.web.worker import LineFullError, StoppedError, TooSlowError, Worker


class Gate:
    """Work that begins when it is its turn and ends when it is let."""

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
    """Run a test with a worker, and stop it after."""

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


def test_work_is_done_in_the_order_it_came():
    async def test(worker):
        order = []
        jobs = [worker.do(lambda _, n=n: order.append(n), seconds=30) for n in range(5)]
        await asyncio.gather(*jobs)
        assert order == [0, 1, 2, 3, 4]

    run(5, test)


def test_errors_of_the_work_arrive_and_the_worker_goes_on():
    def fail(_):
        raise TimeoutError("mine")

    async def test(worker):
        with pytest.raises(TimeoutError, match="mine"):
            await worker.do(fail, seconds=30)
        assert await worker.do(lambda _: 1, seconds=30) == 1

    run(1, test)


def test_past_the_line_nothing_is_taken_on():
    async def test(worker):
        gates = [Gate(n) for n in range(3)]
        tasks = [start(worker, gate) for gate in gates]
        await until(lambda: gates[0].begun.is_set() and worker.waiting == 2)
        with pytest.raises(LineFullError):
            await worker.do(Gate(), seconds=30)
        for gate in gates:
            gate.may_end.set()
        assert await asyncio.gather(*tasks) == [0, 1, 2]
        assert await worker.do(lambda _: "again", seconds=30) == "again"

    run(2, test)


def test_who_leaves_the_line_frees_a_place_and_is_never_served():
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


def test_who_waits_too_long_is_told_and_leaves_the_line():
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


def test_work_past_its_time_is_told_that_nobody_waits_and_others_are_served_after():
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


def test_a_stopped_worker_answers_those_who_wait_and_finishes_what_it_began():
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
