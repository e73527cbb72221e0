"""Whether no value can be right by two schemas."""

from __future__ import annotations

from typing import Any

from fireside.text.grammar.documents import Document, Part
from fireside.text.grammar.plain import listing

_DEEPEST = 8


def apart(document: Document, one: Part, other: Part, depth: int = 0) -> bool:
    """Whether it is sure that no value is right by both.

    It is where their types differ, where one lists values that are all wrong by the other, or where an object
    must have a property that the other forbids or wants otherwise.
    """
    document.spend()
    if depth > _DEEPEST:
        return False
    one, other = _followed(document, one), _followed(document, other)
    if one.schema is False or other.schema is False:
        return True
    if not _types(one) & _types(other):
        return True
    for lister, judge in ((one, other), (other, one)):
        values = _values(lister)
        if values is not None and not any(document.valid(judge, value) for value in values):
            return True
    if _types(one) != {"object"} and _types(other) != {"object"}:
        return False
    return _objects_apart(document, one, other, depth)


def _objects_apart(document: Document, one: Part, other: Part, depth: int) -> bool:
    needed: set[str] = {*one.keywords.get("required", ()), *other.keywords.get("required", ())}
    for name in sorted(needed):
        values = [
            part.inner(part.keywords["properties"][name], "properties", name)
            if name in part.keywords.get("properties", {})
            else _other_property(part)
            for part in (one, other)
        ]
        if any(value is not None and value.schema is False for value in values):
            return True
        if values[0] and values[1] and apart(document, values[0], values[1], depth + 1):
            return True
    return False


def _other_property(part: Part) -> Part | None:
    """What a property that is not named must be; None if that is not known."""
    more = part.keywords.get("additionalProperties")
    return None if more is None or "patternProperties" in part.keywords else part.inner(more)


def _followed(document: Document, part: Part) -> Part:
    for _ in range(_DEEPEST):
        if "$ref" not in part.keywords:
            break
        part = document.target(part)
    return part


def _types(part: Part) -> set[str]:
    types: Any = part.keywords.get("type")
    if types is None:
        values = _values(part)
        return {_type_of(value) for value in values} if values is not None else set(_ALL)
    return {"number" if kind == "integer" else kind for kind in listing(types) or [types]}


_ALL = ("null", "boolean", "number", "string", "array", "object")


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "number"


def _values(part: Part) -> list[Any] | None:
    if "const" in part.keywords:
        return [part.keywords["const"]]
    return listing(part.keywords.get("enum"))
