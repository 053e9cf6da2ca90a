"""What stands before the routes: few requests at a time, small bodies in good time, headers."""

import asyncio
import json

from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from koala.web.errors import RequestError, build_answer
from koala.web.headers import HEADERS
from koala.web.limits import Limits

_PATIENCE = 8
"""Times the limit that is read of a body, and dropped: most clients send all, then listen."""
_READS_JSON = ("/api/track", "/api/export")
"""Where a body is expected; elsewhere the routes say what they think of one."""
_CLOSE = {"connection": "close"}
"""For answers that come before the whole body: what is left of it is not read."""


class Guard:
    """Reads a request's body within the limits before anything else sees it."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._n_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
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
            message = f"More than {limits.requests} requests came at a time. Try again soon."
            raise RequestError(429, "busy", message, headers={"retry-after": "1"} | _CLOSE)
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > limits.body * _PATIENCE:
            raise _too_large(limits)
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if _expects_json(scope) and kind != "application/json":
            message = f"The body is {kind or 'of no named type'}; application/json was expected."
            raise RequestError(415, "not_json", message, headers=_CLOSE)

    async def _read(self, receive: Receive) -> bytes | None:
        """Read the body; none if the client goes away meanwhile."""
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
            problem = f"The body was not here after {limits.seconds:g} seconds."
            raise RequestError(408, "slow_body", problem, headers=_CLOSE) from None
        if size > limits.body:
            raise _too_large(limits)
        return bytes(body)


def _expects_json(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"] in _READS_JSON


def _check_json(body: bytes) -> None:
    """Refuse what the standard library would take and could not write again, and deep nesting."""
    try:
        # 1e999 is read as infinity, which JSON cannot say.
        json.dumps(from_json(body, allow_inf_nan=False), allow_nan=False)
    except ValueError as error:
        raise RequestError(400, "not_json", f"The body is not JSON: {error}.") from None


def _too_large(limits: Limits) -> RequestError:
    message = f"The body is too large; {limits.body:,} bytes are the limit."
    return RequestError(413, "body_too_large", message, headers=_CLOSE)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body once, then whatever else comes: that the client has gone."""
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
