"""One exception tree, turned into one error body in one place.

FiresideError           500 server_error
  BadRequest            400 invalid_request_error
    ContextOverBudget   400 context_over_budget or memory_admission
  Forbidden             403 forbidden
  NotFound              404 not_found
  UnsupportedMedia      415 unsupported_media_type
  TooBusy               429 queue_full, with Retry-After
  NotReady              503 not_ready, with Retry-After
  EngineError           502 engine_error
  DeadlineExceeded      504 deadline_exceeded
"""

from __future__ import annotations

import logging
from typing import ClassVar

import msgspec
from quart import Quart, Response
from werkzeug.exceptions import HTTPException

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


class _Detail(msgspec.Struct):
    message: str
    type: str
    code: str | None
    param: str | None = None


class _Envelope(msgspec.Struct):
    error: _Detail


_BY_STATUS = {400: BadRequest, 403: Forbidden, 404: NotFound, 415: UnsupportedMedia}


def error_body(error: FiresideError) -> bytes:
    """The JSON body of an error, also the payload of an error in a running stream."""
    detail = _Detail(str(error), error.type, error.error_code, error.param)
    return msgspec.json.encode(_Envelope(detail))


def error_response(error: FiresideError) -> Response:
    """The HTTP answer to an error."""
    response = Response(error_body(error), error.status, content_type="application/json")
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


def add_warning(response: Response, text: str | None) -> None:
    """Say in a header what was changed of the request; `text` is ASCII, None for nothing."""
    if text is not None:
        response.headers["Warning"] = f'199 fireside "{text}"'


def install_error_handlers(app: Quart) -> None:
    """Answer every error of every route with the one body."""

    @app.errorhandler(FiresideError)
    async def on_known(error: FiresideError) -> Response:
        return error_response(error)

    @app.errorhandler(HTTPException)
    async def on_http(error: HTTPException) -> Response:
        status = error.code or 500
        kind = _BY_STATUS.get(status, BadRequest if status < 500 else FiresideError)
        response = error_response(
            kind(error.description or error.name, code=error.name.lower().replace(" ", "_"))
        )
        response.status_code = status
        response.headers.extend([header for header in error.get_headers() if header[0] == "Allow"])
        return response

    @app.errorhandler(Exception)
    async def on_unknown(error: Exception) -> Response:
        log.exception("unexpected error", exc_info=error)
        return error_response(FiresideError("Something in Fireside failed; its log has the details."))
