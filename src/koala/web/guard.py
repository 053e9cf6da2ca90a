"""ASGI middleware: limits on concurrent requests, body size and time; security headers."""

import asyncio
import json

from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from koala.web.errors import RequestError, build_answer
from koala.web.headers import HEADERS
from koala.web.limits import Limits

_PATIENCE = 8
"""A body of up to this many times the limit is read and dropped before it is refused, because most
clients read the response only after they have sent everything."""
_READS_JSON = ("/api/track", "/api/export")
"""Paths that expect a JSON body."""
_CLOSE = {"connection": "close"}
"""Header of responses that are sent before the whole body is read."""


class Guard:
    """Reads and checks the body of each request before the application sees it."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._n_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._n_requests += 1
        try:
            await self._serve(scope, receive, _add_headers(send))
        finally:
            self._n_requests -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(scope)
            body = await self._read(receive)
            if body and _expects_json(scope):
                _check_json(body)
        except RequestError as error:
            await build_answer(error)(scope, receive, send)
            return
        if body is not None:
            await self._app(scope, _replay(body, receive), send)

    def _check(self, scope: Scope) -> None:
        limits, headers = self._limits, Headers(scope=scope)
        if self._n_requests > limits.requests:
            message = f"The server allows {limits.requests} requests at a time. Try again soon."
            raise RequestError(429, "busy", message, headers={"retry-after": "1"} | _CLOSE)
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > limits.body * _PATIENCE:
            raise _too_large(limits)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if _expects_json(scope) and kind != "application/json":
            given = kind or "missing"
            message = f"The content-type is {given}; application/json was expected."
            raise RequestError(415, "not_json", message, headers=_CLOSE)

    async def _read(self, receive: Receive) -> bytes | None:
        """Read the body; give None if the client disconnects meanwhile."""
        limits, body, size = self._limits, bytearray(), 0
        try:
            async with asyncio.timeout(limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    if size <= limits.body:
                        body += part
                    if not message.get("more_body") or size > limits.body * _PATIENCE:
                        break
        except TimeoutError:
            problem = f"The body did not arrive within {limits.seconds:g} seconds."
            raise RequestError(408, "slow_body", problem, headers=_CLOSE) from None
        if size > limits.body:
            raise _too_large(limits)
        return bytes(body)


def _expects_json(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"] in _READS_JSON


def _check_json(body: bytes) -> None:
    """Refuse invalid JSON, deep nesting, and numbers that cannot be written as JSON again."""
    try:
        # 1e999 is read as infinity, which JSON cannot represent.
        json.dumps(from_json(body, allow_inf_nan=False), allow_nan=False)
    except ValueError as error:
        raise RequestError(400, "not_json", f"The body is not JSON: {error}.") from None


def _too_large(limits: Limits) -> RequestError:
    message = f"The body is too large; the limit is {limits.body:,} bytes."
    return RequestError(413, "body_too_large", message, headers=_CLOSE)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body once, then later messages, such as the client's disconnect."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _add_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return add
