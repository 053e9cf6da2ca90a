"""Error responses, as JSON: `{"error": {"code", "message", "field"?}}`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from koala.web.headers import HEADERS

_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed"}


class RequestError(HTTPException):
    """A refused request: HTTP status, code, message and the field that is wrong."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.code = code
        self.field = field


def build_answer(error: HTTPException) -> Response:
    """Build the response to a refused request."""
    if not isinstance(error, RequestError):
        code = _CODES.get(error.status_code, "error")
        error = RequestError(error.status_code, code, error.detail, headers=error.headers)
    value = {"code": error.code, "message": error.detail}
    if error.field:
        value["field"] = error.field
    body = json.dumps({"error": value}, ensure_ascii=False)
    headers = {**HEADERS, **(error.headers or {})}
    return Response(body, error.status_code, headers, "application/json")


def find_problem(errors: Sequence[Mapping[str, Any]]) -> RequestError:
    """Build the error of an invalid request from pydantic's list of errors: the first of them."""
    first, *others = errors
    _, *parts = first["loc"]  # without "body" or "query"
    # "one" and "many" are tags of the union in koala.web.schemas, not fields of the request.
    if parts[:1] in (["one"], ["many"]):
        parts = parts[1:]
    field = ".".join(map(str, parts)) or None
    message = str(first["msg"]).removeprefix("Value error, ")
    where = f"{field}: " if field else ""
    more = f" ({len(others)} more errors.)" if others else ""
    return RequestError(422, "invalid", f"{where}{message}.{more}", field=field)
