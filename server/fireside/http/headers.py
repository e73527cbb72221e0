"""The headers of an ASGI request."""

from __future__ import annotations

from typing import Any


def header(scope: Any, name: bytes) -> list[str]:
    """All values of a header; its name in lower case."""
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key.lower() == name]
