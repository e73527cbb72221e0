"""Answers of JSON."""

from __future__ import annotations

import msgspec
from quart import Response

_encode = msgspec.json.Encoder().encode


def json_answer(value: object, status: int = 200) -> Response:
    """An answer with a value as JSON, which nobody keeps; bytes are JSON already."""
    body = value if isinstance(value, bytes) else _encode(value)
    return Response(body, status, {"Cache-Control": "no-store"}, content_type="application/json")
