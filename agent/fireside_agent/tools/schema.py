"""Checks the arguments that a model wrote against a tool's JSON Schema."""

import json
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fireside_agent.tools.tool import ToolError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_CHARACTERS = 2_000_000
"""Of a call's arguments as text; more than any file that `write` is meant for."""

MAX_DEPTH = 64
"""Of objects and lists in each other, the arguments themselves included."""

MAX_VALUES = 10_000
"""Of all objects and lists together; no model means as many."""

SHOWN_FAULTS = 3
SHOWN_CHARACTERS = 300


def check_arguments(schema: dict[str, Any], text: str) -> dict[str, Any]:
    """The arguments in `text`, valid by `schema`.

    An empty text stands for no arguments, and a JSON string that holds an object for that object:
    some models encode twice. Anything else is taken as it is. The schema is Draft 2020-12 where its
    `$schema` does not say otherwise; a `$ref` to elsewhere is never fetched.

    Raises:
        ToolError: the text is not JSON, too large, not an object, or does not fit; says where and why.
    """
    needs = _needs(schema)
    if len(text) > MAX_CHARACTERS:
        raise ToolError(
            f"The arguments have {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed. "
            "Split the work into smaller calls."
        )
    value: object = _parse(text, needs) if text.strip() else {}
    if isinstance(value, str):
        value = _unwrap(value)
    if not isinstance(value, dict):
        raise ToolError(f"The arguments have to be a JSON object, not {_kind(value)}. {needs}")
    arguments = cast(dict[str, Any], value)
    _check_size(arguments)
    faults = _faults(schema, arguments)
    if faults:
        lines = "\n".join(f"- {_describe(fault)}" for fault in faults[:SHOWN_FAULTS])
        more = f"\n- and {len(faults) - SHOWN_FAULTS} more" if len(faults) > SHOWN_FAULTS else ""
        raise ToolError(f"The arguments do not fit the tool's schema:\n{lines}{more}\n{needs}")
    return arguments


def _parse(text: str, needs: str) -> object:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ToolError(f"The arguments are not valid JSON: {error}. {needs}") from None


def _unwrap(text: str) -> object:
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return cast(dict[str, Any], value) if isinstance(value, dict) else text


def _check_size(arguments: dict[str, Any]) -> None:
    level: list[object] = [arguments]
    count = 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        if count > MAX_VALUES:
            raise ToolError(
                f"The arguments hold more than {MAX_VALUES:,} objects and lists. "
                "Split the work into smaller calls."
            )
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    raise _too_deep()


def _children(value: object) -> Iterator[object]:
    children: list[object]
    if isinstance(value, dict):
        children = list(cast(dict[str, object], value).values())
    else:
        children = cast(list[object], value)
    yield from (child for child in children if isinstance(child, (dict, list)))


def _too_deep() -> ToolError:
    return ToolError(f"The arguments are nested deeper than {MAX_DEPTH} levels. Make them flatter.")


def _faults(schema: dict[str, Any], arguments: dict[str, Any]) -> "list[ValidationError]":
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.exceptions import relevance
    from jsonschema.validators import extend, validator_for  # pyright: ignore[reportUnknownVariableType]
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY

    validator_class = cast(type[Draft202012Validator], validator_for(schema, default=Draft202012Validator))
    try:
        validator_class.check_schema(schema)
        if '"uniqueItems"' in json.dumps(schema):
            validator_class = cast(
                type[Draft202012Validator], extend(validator_class, {"uniqueItems": _unique})
            )
        # The registry is given, or jsonschema would fetch what it does not know.
        validator = validator_class(schema, registry=EMPTY_REGISTRY)
        faults = list(validator.iter_errors(arguments))  # pyright: ignore[reportUnknownMemberType]
    except SchemaError as error:
        raise _bad_schema(error.message) from None
    except Unresolvable as error:
        raise _bad_schema(f"it refers to {error.ref!r}, which it does not hold") from None
    except RecursionError:
        raise _bad_schema("it refers to itself without end") from None
    return sorted(faults, key=relevance, reverse=True)


def _unique(
    _validator: object, wanted: object, items: object, _schema: object
) -> "Iterator[ValidationError]":
    """`uniqueItems` as jsonschema has it, which compares all items with one another: minutes for many."""
    from jsonschema.exceptions import ValidationError

    if wanted is True and isinstance(items, list):
        keys = [_key(item) for item in cast(list[object], items)]
        if len(set(keys)) < len(keys):
            yield ValidationError("has an item more than once")


def _key(value: object) -> Hashable:
    """Equal exactly for values that are equal in JSON Schema: 1 is 1.0, and not true."""
    match value:
        case dict():
            pairs = cast(dict[str, object], value).items()
            return "object", frozenset((name, _key(item)) for name, item in pairs)
        case list():
            return "list", tuple(_key(item) for item in cast(list[object], value))
        case bool():
            return "boolean", value
        case _:
            return "other", cast(Hashable, value)


def _bad_schema(why: str) -> ToolError:
    return ToolError(
        f"This tool cannot be called: its schema is wrong ({_cut(why)}). That is a fault of the tool; "
        "use another."
    )


def _describe(fault: "ValidationError") -> str:
    where = _path(fault)
    expected: Any = fault.validator_value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    kind = _kind(fault.instance)
    got = kind if kind in ("null", "object") else f"{kind} {_shown(fault.instance)}"
    keyword = cast(object, fault.validator)
    match keyword:
        case "required":
            return _cut(fault.message) + (f" in `{where}`" if where else "")
        case "type":
            return f"`{where}`: expected {_types(expected)}, got {got}"
        case "enum":
            return f"`{where}`: expected one of {_shown(expected)}, got {got}"
        case "const":
            return f"`{where}`: expected {_shown(expected)}, got {got}"
        case "additionalProperties" | "unevaluatedProperties":
            return _cut(fault.message) + (f" in `{where}`" if where else "")
        case None:
            return f"`{where}`: not allowed here"
        case _:
            wanted = f"{keyword} {_shown(expected)}"
            return f"`{where}`: expected {wanted}, got {got}" if where else f"expected {wanted}"


def _path(fault: "ValidationError") -> str:
    path = ""
    for step in fault.absolute_path:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return _cut(path.removeprefix("."))


def _needs(schema: dict[str, Any]) -> str:
    required = _texts(schema.get("required"))
    known = schema.get("properties")
    properties = cast(dict[str, Any], known) if isinstance(known, dict) else {}
    optional = [name for name in properties if name not in required]
    parts = ["Required: " + (", ".join(_named(name, properties) for name in required) or "nothing") + "."]
    if optional:
        parts.append("Optional: " + ", ".join(_named(name, properties) for name in optional) + ".")
    return " ".join(parts)


def _named(name: str, properties: dict[str, Any]) -> str:
    known = properties.get(name)
    kind = cast(dict[str, Any], known).get("type") if isinstance(known, dict) else None
    return f"`{name}` ({_types(kind)})" if kind else f"`{name}`"


def _types(kind: object) -> str:
    return kind if isinstance(kind, str) else " or ".join(_texts(kind))


def _texts(value: object) -> list[str]:
    return (
        [item for item in cast(list[object], value) if isinstance(item, str)]
        if isinstance(value, list)
        else []
    )


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "list"
        case _:
            return "object"


def _shown(value: object) -> str:
    return _cut(msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
