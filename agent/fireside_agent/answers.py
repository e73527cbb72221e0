"""What the agent's HTTP routes share: JSON in and out, and one shape of error."""

import asyncio
import json
import re
from typing import Any, TypeVar, cast

import msgspec
from quart import Blueprint, Response, request
from werkzeug.exceptions import HTTPException, RequestTimeout

from fireside_agent.errors import AgentError, StorageError

T = TypeVar("T")

MAX_JSON_BYTES = 1024 * 1024

_WHERE = re.compile(r" - at `\$\.?(.*)`$")
"""How msgspec ends its messages: with the place of what is wrong."""

_MISSING = re.compile(r"missing required field `(.*)`$")


class RefusedError(AgentError):
    """A request that is not acted upon.

    Attributes:
        status: of HTTP.
        code: for programs.
        param: the field or parameter that is wrong.
    """

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param


def json_answer(value: Any, status: int = 200) -> Response:
    """An answer with `value` as JSON, which nobody keeps."""
    headers = {"Cache-Control": "no-store"}
    return Response(_encoded(value), status, headers, content_type="application/json")


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # What a model wrote can hold half of a surrogate pair, which only escapes can carry.
        return json.dumps(msgspec.to_builtins(value)).encode()


def error_answer(status: int, code: str, message: str, param: str | None = None) -> Response:
    """An answer with an error in the shape that all of Fireside's routes use."""
    return json_answer(error_body(status, code, message, param), status)


def error_body(status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """The body of such an answer."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def answer_errors(blueprint: Blueprint) -> None:
    """Let the blueprint's routes raise RefusedError, StorageError and what Quart raises for a bad body."""

    async def refused(error: RefusedError) -> Response:
        return error_answer(error.status, error.code, str(error), error.param)

    async def storage_failed(error: StorageError) -> Response:
        return error_answer(503, "storage_failed", str(error))

    async def bad_request(error: HTTPException) -> Response:
        code = error.name.lower().replace(" ", "_")
        return error_answer(error.code or 500, code, error.description or error.name)

    blueprint.register_error_handler(RefusedError, refused)
    blueprint.register_error_handler(StorageError, storage_failed)
    blueprint.register_error_handler(HTTPException, bad_request)


async def read_json(kind: type[T]) -> T:
    """The request's body as `kind`.

    Raises:
        RefusedError: it is not JSON, too large, or not what `kind` says.
        RequestTimeout: the rest of it does not come.
    """
    if request.mimetype != "application/json":
        # A form on a foreign page could send any other type.
        message = "The body must be JSON, with `Content-Type: application/json`."
        raise RefusedError(415, "unsupported_media_type", message)
    if (request.content_length or 0) > MAX_JSON_BYTES:
        raise RefusedError(413, "too_large", f"The body may have {MAX_JSON_BYTES} bytes at most.")
    try:
        async with asyncio.timeout(request.body_timeout):
            body = cast(bytes, await request.body)
    except TimeoutError as error:
        raise RequestTimeout from error
    if len(body) > MAX_JSON_BYTES:
        raise RefusedError(413, "too_large", f"The body may have {MAX_JSON_BYTES} bytes at most.")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        where = _WHERE.search(str(error)) or _MISSING.search(str(error))
        param = where[1] if where else None
        raise RefusedError(400, "invalid_request", f"The body is not right: {error}", param) from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RefusedError(400, "invalid_json", f"The body is not JSON: {error}") from error
