"""Tracking off the event loop, in one thread, cancellable between texts."""

import asyncio
import threading

import pytest

import koala
from koala.document import Procedure
from koala.errors import KoalaError

TEXTS = ["Water boils in the pot.", "Ice melts on the table.", "Steam rises into the air."]


@pytest.fixture(scope="module")
def tracker():
    return koala.load()


@pytest.fixture
def slow(tracker, monkeypatch):
    """Let every text wait for a gate; note which texts have begun, and where."""
    gate, begun, ended, threads = threading.Event(), [], [], set()
    track_all = tracker.track_all

    def wait(procedures, **options):
        begun.append(procedures[0].id)
        threads.add(threading.current_thread())
        assert gate.wait(60)
        grids = track_all(procedures, **options)
        ended.append(procedures[0].id)
        return grids

    monkeypatch.setattr(tracker, "track_all", wait)
    yield gate, begun, ended, threads
    gate.set()


def test_the_grid_is_the_same(tracker):
    found = asyncio.run(tracker.track_async(TEXTS[0], ["water"], id="a"))
    assert found == tracker.track(TEXTS[0], ["water"], id="a")
    explained = asyncio.run(tracker.explain_async(TEXTS[0], ["water"], id="a"))
    assert explained == tracker.explain(TEXTS[0], ["water"], id="a")


def test_the_event_loop_goes_on_while_texts_are_tracked(tracker, slow):
    gate, begun, _, threads = slow

    async def run():
        jobs = [
            asyncio.create_task(tracker.track_async(text, ["it"], id=str(n)))
            for n, text in enumerate(TEXTS)
        ]
        while not begun:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        # The others wait for the first one.
        assert begun == ["0"]
        gate.set()
        return await asyncio.gather(*jobs)

    grids = asyncio.run(run())
    assert [grid.id for grid in grids] == begun == ["0", "1", "2"]
    (thread,) = threads
    assert thread is not threading.main_thread()


def test_a_cancelled_text_that_has_not_begun_is_never_tracked(tracker, slow):
    gate, begun, _, _ = slow

    async def run():
        first, second, third = (
            asyncio.create_task(tracker.track_async(text, ["it"], id=str(n)))
            for n, text in enumerate(TEXTS)
        )
        while not begun:
            await asyncio.sleep(0.001)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        gate.set()
        return [(await first).id, (await third).id]

    assert asyncio.run(run()) == begun == ["0", "2"]


def test_cancelling_stops_between_the_texts_of_many(tracker, slow):
    gate, begun, ended, _ = slow
    procedures = [Procedure.from_text(t, ["it"], id=str(n)) for n, t in enumerate(TEXTS)]
    found = []

    async def collect():
        async for grid in tracker.track_all_async(procedures):
            found.append(grid.id)
            gate.clear()

    async def run():
        gate.set()
        job = asyncio.create_task(collect())
        while len(begun) < 2:
            await asyncio.sleep(0.001)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        gate.set()
        # Whatever has begun ends before this one.
        await tracker.track_async(TEXTS[0], ["it"], id="last")

    asyncio.run(run())
    assert found == ["0"]
    assert begun == ended == ["0", "1", "last"]


def test_errors_come_through(tracker):
    with pytest.raises(KoalaError, match="The text is empty"):
        asyncio.run(tracker.track_async("", ["water"]))
