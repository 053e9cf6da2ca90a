"""Bodies that are too large or too slow, and clients that disconnect, at the ASGI level."""

import asyncio
import json

import pytest

from koala.errors import KoalaError
from koala.registry import Trackers
from koala.web.app import build_app
from koala.web.limits import Limits

BODY = json.dumps({"text": "Go there.", "entities": ["a"]}).encode()
GONE = {"type": "http.disconnect"}


def part(body, more=True):
    return {"type": "http.request", "body": body, "more_body": more}


class Call:
    """One request, whose ASGI messages a test sends one by one."""

    def __init__(self, app, headers=()):
        self.messages = asyncio.Queue()
        self.sent = []
        self.n_read = 0
        names = {"content-type": "application/json", **dict(headers)}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/api/track",
            "raw_path": b"/api/track",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in names.items()],
        }
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self):
        message = await self.messages.get()
        self.n_read += 1
        return message

    async def _send(self, message):
        self.sent.append(message)

    def give(self, *messages):
        for message in messages:
            self.messages.put_nowait(message)

    async def answer(self):
        await asyncio.wait_for(self.task, 30)
        start, *rest = self.sent
        body = b"".join(message["body"] for message in rest)
        return start["status"], json.loads(body), dict(start["headers"])


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


def run(tracker, test, **limits):
    async def whole():
        app = build_app(Trackers.single(tracker), Limits(**limits))
        try:
            await test(app)
        finally:
            for worker in app.state.workers:
                worker.stop()

    try:
        asyncio.run(whole())
    finally:
        tracker.gate.set()


def test_a_body_can_arrive_in_parts(tracker):
    async def test(app):
        call = Call(app)
        call.give(part(BODY[:10]), part(b""), part(BODY[10:], more=False))
        assert (await call.answer())[0] == 200

    run(tracker, test)


def test_a_body_with_a_large_content_length_is_refused_unread(tracker):
    async def test(app):
        call = Call(app, {"content-length": "8001"})
        status, value, headers = await call.answer()
        assert (status, value["error"]["code"]) == (413, "body_too_large")
        assert "1,000 bytes" in value["error"]["message"]
        assert headers[b"connection"] == b"close"
        assert b"content-security-policy" in headers
        assert call.n_read == 0

    run(tracker, test, body=1000)


@pytest.mark.parametrize("headers", [{}, {"content-length": "10"}])
def test_a_large_body_without_a_true_content_length_is_cut_off(tracker, headers):
    async def test(app):
        call = Call(app, headers)
        call.give(*[part(b"x" * 400)] * 50)
        status, value, _ = await call.answer()
        assert (status, value["error"]["code"]) == (413, "body_too_large")
        # Eight times the limit is read, so that most clients get to read the response.
        assert call.n_read == 21

    run(tracker, test, body=1000)
    assert tracker.calls == []


def test_one_byte_beyond_the_limit_is_refused_after_the_body_is_read(tracker):
    async def test(app):
        for n_spaces, expected in ((1000 - len(BODY), 200), (1001 - len(BODY), 413)):
            call = Call(app, {"content-length": str(len(BODY) + n_spaces)})
            call.give(part(BODY), part(b" " * n_spaces, more=False))
            assert (await call.answer())[0] == expected
            assert call.n_read == 2 or expected == 200

    run(tracker, test, body=1000)


def test_a_body_that_does_not_arrive_gets_408(tracker):
    async def test(app):
        call = Call(app)
        call.give(part(BODY[:10]))
        status, value, _ = await call.answer()
        assert (status, value["error"]["code"]) == (408, "slow_body")

    run(tracker, test, seconds=0.05)


def test_a_client_that_disconnects_while_sending_gets_no_response(tracker):
    async def test(app):
        call = Call(app)
        call.give(part(BODY[:10]), GONE)
        await asyncio.wait_for(call.task, 30)
        assert call.sent == []

    run(tracker, test)
    assert tracker.calls == []


def test_a_client_that_disconnects_while_waiting_frees_its_slot(tracker):
    async def test(app):
        tracker.gate.clear()
        (worker, _) = app.state.workers
        served, leaving = Call(app), Call(app)
        served.give(part(BODY, more=False))
        await until(lambda: tracker.calls)
        leaving.give(part(BODY, more=False))
        await until(lambda: worker.waiting == 1)
        leaving.give(GONE)
        await asyncio.wait_for(leaving.task, 30)
        await until(lambda: worker.waiting == 0)
        tracker.gate.set()
        assert (await served.answer())[0] == 200

    run(tracker, test)
    assert len(tracker.calls) == 1


def test_the_content_type_must_be_json(tracker):
    async def test(app):
        for kind, status in (
            ("text/plain", 415), ("", 415), ("application/x-www-form-urlencoded", 415),
            ("application/json; charset=utf-8", 200), ("Application/JSON", 200),
        ):  # fmt: skip
            call = Call(app, {"content-type": kind})
            call.give(part(BODY, more=False))
            assert (await call.answer())[0] == status, kind

    run(tracker, test)


@pytest.mark.parametrize("limits", [{"steps": 0}, {"seconds": -1}, {"seconds": float("nan")}])
def test_limits_must_be_positive(limits):
    with pytest.raises(KoalaError, match="must be above 0"):
        Limits(**limits)
