"""JSON values by their kind."""

from __future__ import annotations

from typing import Any, cast


def mapping(value: Any) -> dict[str, Any] | None:
    """An object; None for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def listing(value: Any) -> list[Any] | None:
    """An array; None for any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else None


def hashed(value: Any) -> Any:
    """What is equal for values that are the same in JSON, where true is not 1, and can be a key."""
    if isinstance(value, bool):
        return bool, value
    several, object_ = listing(value), mapping(value)
    if several is not None:
        return tuple(map(hashed, several))
    if object_ is not None:
        return frozenset((name, hashed(inner)) for name, inner in object_.items())
    return value
