"""Types that msgspec encodes but cannot describe, made describable.

That is a choice between several classes that have their tag as an ordinary field, `type: Literal["message"]`:
what is decoded could not be one, so that msgspec has no schema for it. A class with a proper tag has the
same JSON. A class that is inside itself by way of such a choice stays without a schema.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo, fields

_TAG = "type"


def describable(kinds: Iterable[Any]) -> list[Any]:
    """The types themselves, or those of the same JSON that msgspec can describe."""
    twins = _Twins()
    return [twins.of(kind) for kind in kinds]


class _Twins:
    """Each class is looked at once, so that one inside itself has an end: there it stays as it is."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._tagged = functools.cache(_tagged)

    def of(self, kind: Any) -> Any:
        if _is_struct(kind):
            if kind not in self._known:
                self._known[kind] = kind
                self._known[kind] = self._struct(kind)
            return self._known[kind]
        arguments = get_args(kind)
        if get_origin(kind) in (Union, types.UnionType):
            return self._choice(arguments)
        if get_origin(kind) in (list, dict, tuple):
            described = tuple(self.of(argument) for argument in arguments)
            return kind if described == arguments else get_origin(kind)[described]
        return kind

    def _choice(self, choices: tuple[Any, ...]) -> Any:
        described = [self.of(choice) for choice in choices]
        untagged = [choice for choice in described if _is_struct(choice) and _tag_of(choice)]
        if len(untagged) > 1:
            described = [self._tagged(choice) if choice in untagged else choice for choice in described]
        return Union[tuple(described)]  # noqa: UP007 (how many there are is not known)

    def _struct(self, kind: type[msgspec.Struct]) -> Any:
        old = fields(kind)
        new = [self.of(field.type) for field in old]
        if all(a is field.type or a == field.type for a, field in zip(new, old, strict=True)):
            return kind
        return _like(kind, [_definition(field, a) for a, field in zip(new, old, strict=True)])


def _tagged(kind: type[msgspec.Struct]) -> Any:
    rest = [_definition(field, field.type) for field in fields(kind) if field.name != _TAG]
    return _like(kind, rest, tag_field=_TAG, tag=_tag_of(kind))


def _tag_of(kind: type[msgspec.Struct]) -> str | None:
    """The only value of its field for the tag, where it has one that is not a tag already."""
    if kind.__struct_config__.tag is not None:
        return None
    for field in fields(kind):
        if field.name == _TAG and get_origin(field.type) is Literal:
            values = get_args(field.type)
            return str(values[0]) if len(values) == 1 else None
    return None


def _like(kind: type[msgspec.Struct], definitions: list[Any], **options: Any) -> Any:
    return msgspec.defstruct(
        kind.__name__,
        definitions,
        kw_only=True,
        module=kind.__module__,
        namespace={"__doc__": kind.__doc__},
        **options,
    )


def _definition(field: FieldInfo, kind: Any) -> tuple[str, Any, Any]:
    """As `defstruct` wants it; a field without a default stays one."""
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = msgspec.field(default_factory=field.default_factory)
    return (field.name, kind, default)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
