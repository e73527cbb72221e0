"""Bodies into values; what is wrong becomes a 400 that names the field."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from fireside.http.errors import BadRequest

T = TypeVar("T")

_PATH = re.compile(r" - at `(?P<path>[^`]+)`$")


def decode(body: bytes, kind: type[T]) -> T:
    """A JSON body as a value; unknown fields are ignored.

    Raises:
        BadRequest: not JSON, a wrong type, or a value out of its range; `param` is the field.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise _wrong_field(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"invalid JSON body: {error}") from error


def _wrong_field(text: str) -> BadRequest:
    found = _PATH.search(text)
    if found is None:
        missing = re.search(r"required field `([^`]+)`", text)
        return BadRequest(text, param=missing.group(1) if missing else None)
    field = found["path"].removeprefix("$").removeprefix(".")
    missing = re.search(r"required field `([^`]+)`", text)
    if missing:
        field = f"{field}.{missing.group(1)}"
    return BadRequest(f"{field}: {text[: found.start()]}", param=field)
