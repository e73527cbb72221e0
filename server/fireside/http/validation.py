"""Bodies into values; what is wrong becomes a 400 that names the field."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from fireside.http.errors import BadRequest

T = TypeVar("T")

_MAX_DEPTH = 128
"""Far more than any schema needs, and few enough for code that goes down level by level."""

_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = {ord("["): 1, ord("]"): -1}
_SLICE = 1 << 16
_PATH = re.compile(r" - at `(?P<path>[^`]+)`$")
_STEP = re.compile(r"(?P<name>[^.\[\]]+)|\[[^\]]*\]")
_MISSING = re.compile(r"required field `(?P<name>[^`]+)`")


def decode(body: bytes, kind: type[T]) -> T:
    """A JSON body as a value; unknown fields are ignored.

    Raises:
        BadRequest: not JSON, nested too deep, a wrong type or a value out of its range; `param` is the field.
    """
    _refuse_depth(body)
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise _wrong_field(str(error), kind) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"invalid JSON body: {error}") from error


def _refuse_depth(body: bytes) -> None:
    if body.count(b"{") + body.count(b"[") <= _MAX_DEPTH:
        return
    brackets = _STRINGS.sub(b"", body).translate(_ONE_KIND, _NO_BRACKETS)
    # Most hold no others: without those that is one level less, and much less to go through.
    rest = brackets.replace(b"[]", b"")
    depth = 1
    for begin in range(0, len(rest), _SLICE):
        levels = list(accumulate(map(_LEVELS.__getitem__, rest[begin : begin + _SLICE]), initial=depth))
        if max(levels) > _MAX_DEPTH:
            raise BadRequest(f"invalid JSON body: it is nested more than {_MAX_DEPTH} levels deep.")
        depth = levels[-1]


def _wrong_field(text: str, kind: Any) -> BadRequest:
    at, missing = _PATH.search(text), _MISSING.search(text)
    path = at["path"].removeprefix("$").removeprefix(".") if at else ""
    field = ".".join(filter(None, (path, missing["name"] if missing else "")))
    message = text[: at.start()] if at else text
    if message.startswith("Invalid enum value") and (choices := _choices(kind, path)):
        message = f"{message}; it must be one of {', '.join(choices)}"
    return BadRequest(f"{field}: {message}" if field else message, param=field or None)


def _choices(kind: Any, path: str) -> list[str]:
    """What the place of that path may say; empty where it cannot be told."""
    places = [inspect.type_info(kind)]
    for step in _STEP.finditer(path):
        places = [inner for place in places for inner in _inside(place, step["name"])]
    return [
        str(choice)
        for place in places
        for kind in _kinds(place)
        if isinstance(kind, inspect.LiteralType)
        for choice in kind.values
    ]


def _inside(place: inspect.Type, name: str | None) -> list[inspect.Type]:
    found: list[inspect.Type] = []
    for kind in _kinds(place):
        match kind:
            case inspect.StructType(fields=fields):
                found += [field.type for field in fields if field.encode_name == name]
            case inspect.ListType(item_type=item) if name is None:
                found.append(item)
            case inspect.DictType(value_type=value) if name is None:
                found.append(value)
            case _:
                pass
    return found


def _kinds(place: inspect.Type) -> list[inspect.Type]:
    """The members of a union, or the one type; without what is only said about it."""
    match place:
        case inspect.Metadata(type=inner):
            return _kinds(inner)
        case inspect.UnionType(types=types):
            return [kind for member in types for kind in _kinds(member)]
        case _:
            return [place]
