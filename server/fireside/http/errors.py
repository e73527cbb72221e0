"""One exception tree, turned into one error body in one place.

FiresideError           500 server_error
  BadRequest            400 invalid_request_error
    ContextOverBudget   400 context_over_budget or memory_admission
  Unauthorized          401 invalid_api_key
  Forbidden             403 forbidden
  NotFound              404 not_found
  UnsupportedMedia      415 unsupported_media_type
  TooBusy               429 queue_full, with Retry-After
  RequestCancelled      499 request_cancelled
  NotReady              503 not_ready, with Retry-After
  EngineError           502 engine_error
  DeadlineExceeded      504 deadline_exceeded
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, ClassVar

import msgspec

from fireside.http.anthropic_errors import anthropic_error_body, new_request_id, speaks_anthropic

if TYPE_CHECKING:
    from quart import Quart, Response

log = logging.getLogger(__name__)


class FiresideError(Exception):
    """An error that a caller is told about, with status and code."""

    status: ClassVar[int] = 500
    type: ClassVar[str] = "server_error"
    code: ClassVar[str] = "server_error"
    retry_after_s: int | None = None
    """When it is worth trying again; a kind's own, unless an error says otherwise."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.param = param
        self.error_code = code or self.code
        if retry_after_s is not None:
            self.retry_after_s = retry_after_s


class BadRequest(FiresideError):
    """The request is wrong; `param` names the field."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_request"


class ContextOverBudget(BadRequest):
    """The prompt is longer than what the model can hold, or than what the memory can.

    The code is `memory_admission` where the budget for keys and values is what it does not fit.
    """

    type = "memory_admission"
    code = "context_over_budget"


class Unauthorized(FiresideError):
    """There is no key with the request, or not a good one."""

    status = 401
    type = "invalid_request_error"
    code = "invalid_api_key"


class Forbidden(FiresideError):
    """The request comes from a place that may not ask."""

    status = 403
    type = "invalid_request_error"
    code = "forbidden"


class NotFound(FiresideError):
    """There is nothing at this address."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"


class Conflict(FiresideError):
    """What is asked for does not go with how things are now."""

    status = 409
    type = "invalid_request_error"
    code = "conflict"


class UnsupportedMedia(FiresideError):
    """The body is not JSON, or does not say that it is."""

    status = 415
    type = "invalid_request_error"
    code = "unsupported_media_type"


class TooBusy(FiresideError):
    """As many requests wait as may."""

    status = 429
    type = "rate_limit_error"
    code = "queue_full"
    retry_after_s = 1


class RequestCancelled(FiresideError):
    """Somebody else than its client ended the request.

    The status is one after which no client tries again by itself.
    """

    status = 499
    type = "invalid_request_error"
    code = "request_cancelled"


class NotReady(FiresideError):
    """The model is still loading, or has gone."""

    status = 503
    type = "server_error"
    code = "not_ready"
    retry_after_s = 1


class DeadlineExceeded(FiresideError):
    """The answer was not complete when the request's own deadline passed."""

    status = 504
    type = "server_error"
    code = "deadline_exceeded"


class EngineError(FiresideError):
    """The engine could not finish this request."""

    status = 502
    type = "server_error"
    code = "engine_error"


class ErrorDetail(msgspec.Struct):
    """What was wrong, for people and for programs; `param` is the field or parameter."""

    message: str
    type: str
    code: str | None
    param: str | None = None


class ErrorBody(msgspec.Struct):
    """The body of every error."""

    error: ErrorDetail


_NOT_IN_HEADERS = re.compile(r"[^ !#-\[\]-~]")
"""All but the printable ASCII characters that may stand in a quoted text as they are."""
_LONGEST_WARNING = 500

_BY_STATUS = {400: BadRequest, 403: Forbidden, 404: NotFound, 415: UnsupportedMedia}


def error_body(
    error: FiresideError, path: str = "", status: int | None = None, request_id: str | None = None
) -> bytes:
    """The JSON body of an error, also the payload of an error in a running stream.

    Args:
        path: of the request, where it may be one of Anthropic's API, which has another body.
        status: instead of the error's own.
        request_id: as the answer's headers have it.
    """
    if speaks_anthropic(path):
        return anthropic_error_body(
            str(error), status or error.status, error.error_code, error.param, request_id
        )
    detail = ErrorDetail(str(error), error.type, error.error_code, error.param)
    return msgspec.json.encode(ErrorBody(detail))


def error_response(error: FiresideError, status: int | None = None) -> Response:
    """The HTTP answer to an error of the current request; `status` is instead of the error's own."""
    # Here, as the errors are also those of processes that serve nothing.
    from quart import Response, has_request_context, request

    # A WebSocket's upgrade is refused with the same body, and is no request.
    path = str(request.path) if has_request_context() else ""
    request_id = new_request_id() if speaks_anthropic(path) else None
    body = error_body(error, path, status, request_id)
    response = Response(body, status or error.status, content_type="application/json")
    if request_id is not None:
        response.headers["request-id"] = request_id
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


def as_told(error: Exception) -> FiresideError:
    """What a caller is told of an error. What is not known as one is written to the log instead."""
    if isinstance(error, FiresideError):
        return error
    log.exception("unexpected error", exc_info=error)
    return FiresideError("Something in Fireside failed; its log has the details.")


def add_warning(response: Response, text: str | None) -> None:
    """Say in a header of its own what was changed of the request; None for nothing.

    What a header cannot carry is replaced, and a text that is too long for one is cut.
    """
    if text is not None:
        plain = _NOT_IN_HEADERS.sub("?", text.replace('"', "'"))
        short = plain if len(plain) <= _LONGEST_WARNING else f"{plain[: _LONGEST_WARNING - 3]}..."
        response.headers.add("Warning", f'199 fireside "{short}"')


def install_error_handlers(app: Quart) -> None:
    """Answer every error of every route with the one body."""
    from werkzeug.exceptions import HTTPException

    @app.errorhandler(FiresideError)
    async def on_known(error: FiresideError) -> Response:
        return error_response(error)

    @app.errorhandler(HTTPException)
    async def on_http(error: HTTPException) -> Response:
        status = error.code or 500
        kind = _BY_STATUS.get(status, BadRequest if status < 500 else FiresideError)
        response = error_response(
            kind(error.description or error.name, code=error.name.lower().replace(" ", "_")), status
        )
        response.headers.extend([header for header in error.get_headers() if header[0] == "Allow"])
        return response

    @app.errorhandler(Exception)
    async def on_unknown(error: Exception) -> Response:
        return error_response(as_told(error))
