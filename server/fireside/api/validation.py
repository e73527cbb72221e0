"""Bodies into values; what is wrong becomes a 400 that names the field."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from fireside.http.errors import BadRequest

T = TypeVar("T")

_PATH = re.compile(r" - at `(?P<path>[^`]+)`$")
_MISSING = re.compile(r"required field `(?P<name>[^`]+)`")


def decode(body: bytes, kind: type[T]) -> T:
    """A JSON body as a value; unknown fields are ignored.

    Raises:
        BadRequest: not JSON, a wrong type, or a value out of its range; `param` is the field.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise _wrong_field(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"invalid JSON body: {error}") from error


def _wrong_field(text: str) -> BadRequest:
    at, missing = _PATH.search(text), _MISSING.search(text)
    path = at["path"].removeprefix("$").removeprefix(".") if at else ""
    field = ".".join(filter(None, (path, missing["name"] if missing else "")))
    message = text[: at.start()] if at else text
    return BadRequest(f"{field}: {message}" if field else message, param=field or None)
