"""Errors as Anthropic's clients read them: under `/v1/messages` every error has this body."""

from __future__ import annotations

import secrets

import msgspec

_PATH = "/v1/messages"
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


class AnthropicDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """What programs may act upon: our code, and the field of the body."""

    error_code: str
    param: str | None = None


class AnthropicError(msgspec.Struct, frozen=True):
    """The kind of error follows from the status alone."""

    type: str
    message: str
    details: AnthropicDetails


class AnthropicErrorBody(msgspec.Struct, frozen=True, omit_defaults=True, tag="error"):
    """The body, also the data of an `error` event."""

    error: AnthropicError
    request_id: str | None = None


def speaks_anthropic(path: str) -> bool:
    """Whether a path belongs to Anthropic's API."""
    return path == _PATH or path.startswith(f"{_PATH}/")


def new_request_id() -> str:
    """An id for the `request-id` header, which clients name in their reports."""
    return f"req_{secrets.token_hex(12)}"


def anthropic_error_body(
    message: str, status: int, code: str, param: str | None = None, request_id: str | None = None
) -> bytes:
    """The JSON body. Anthropic's form has no place that people see but the message, so it names the field."""
    if param is not None and param not in message:
        message = f"{param}: {message}"
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    error = AnthropicError(kind, message, AnthropicDetails(code, param))
    return msgspec.json.encode(AnthropicErrorBody(error, request_id))
