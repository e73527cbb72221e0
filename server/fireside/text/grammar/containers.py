"""What xgrammar enforces of arrays and objects, out of the keywords of schemas that all hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fireside.text.grammar import expressions, patterns
from fireside.text.grammar.characters import IN_STRING
from fireside.text.grammar.documents import Document, Part
from fireside.text.grammar.plain import listing, mapping
from fireside.text.grammar.spec import GrammarUnsupported
from fireside.text.grammar.values import Core, said_by

Lower = Callable[[Sequence[Part]], Core]
"""Lowers schemas that all hold."""

_MOST_DISTINCT = 5


def array_core(parts: Sequence[Part], lower: Lower) -> Core:
    """An array of items."""
    least = int(max((value for _, value in said_by(parts, "minItems")), default=0))
    most = min((int(value) for _, value in said_by(parts, "maxItems")), default=None)
    for part, _ in said_by(parts, "contains"):
        if part.keywords.get("minContains") != 0 or "maxContains" in part.keywords:
            raise GrammarUnsupported(f"{part.at}/contains cannot be enforced")
    size = max(len(_prefix(part)) for part in parts)
    prefix: list[Core] = []
    for index in range(size if most is None else min(size, most)):
        item = lower([item for part in parts for item in _item(part, index)])
        if item is False:
            most = index
            break
        prefix.append(item)
    rest: Core = lower([item for part in parts for item in _item(part, None)])
    if rest is False or (most is not None and most <= len(prefix)):
        most, rest = min(len(prefix), len(prefix) if most is None else most), False
    if most is not None and least > most:
        return False
    core = {"type": "array", "items": rest} | ({"prefixItems": prefix} if prefix else {})
    core |= {"minItems": least} if least else {}
    core |= {"maxItems": most} if most is not None and rest is not False else {}
    unique = [part for part, value in said_by(parts, "uniqueItems") if value]
    return _distinct(unique[0], core, least, most) if unique and (most is None or most > 1) else core


def _prefix(part: Part) -> list[Any]:
    items = listing(part.keywords.get("items"))
    return part.keywords.get("prefixItems", []) if items is None else items


def _item(part: Part, index: int | None) -> list[Part]:
    """What a schema says of an item; of those behind the listed ones where `index` is None."""
    prefix = _prefix(part)
    if index is not None and index < len(prefix):
        return [part.inner(prefix[index], "prefixItems", index)]
    for keyword in ("items", "additionalItems", "unevaluatedItems"):
        value = part.keywords.get(keyword)
        if value is not None and not isinstance(value, list):
            return [part.inner(value, keyword)]
    return []


def _distinct(part: Part, core: dict[str, Any], least: int, most: int | None) -> Core:
    """An array whose items differ: written out where there are few."""
    values: list[Any] = (mapping(core["items"]) or {}).get("enum", [])
    if "prefixItems" in core or not 0 < len(values) <= _MOST_DISTINCT:
        raise GrammarUnsupported(
            f"{part.at}/uniqueItems can be enforced only for an enum of at most {_MOST_DISTINCT} items"
        )
    top = len(values) if most is None else min(most, len(values))
    arrays = [list(some) for size in range(least, top + 1) for some in itertools.permutations(values, size)]
    return {"enum": arrays} if arrays else False


def object_core(parts: Sequence[Part], lower: Lower, document: Document) -> Core:
    """An object with properties."""
    required = dict.fromkeys(str(name) for _, names in said_by(parts, "required") for name in names)
    names = dict.fromkeys(name for _, properties in said_by(parts, "properties") for name in properties)
    properties: dict[str, Core] = {}
    for name in [*names, *(name for name in required if name not in names)]:
        value = lower([schema for part in parts for schema in _property(parts, part, name, document)])
        if value is not False:
            properties[name] = value
        elif name in required:
            return False
    least = int(max((value for _, value in said_by(parts, "minProperties")), default=0))
    most = min((int(value) for _, value in said_by(parts, "maxProperties")), default=None)
    if most is not None and (least > most or len(required) > most):
        return False
    core: dict[str, Any] = {"type": "object"} | ({"properties": properties} if properties else {})
    core |= {"required": list(required)} if required else {}
    named = bool(names or required)
    closed = most is not None and most <= len(required)
    core |= _others(parts, lower, named, closed=closed, few=len(properties) < least)
    if named and core["additionalProperties"] is not False:
        # xgrammar keeps to that by itself, but for names that are written with escapes.
        others = expressions.other_than((*names, *required), IN_STRING)
        core["propertyNames"] = {"pattern": f"^({expressions.text_of(others)})$"}
    if core["additionalProperties"] is False and "patternProperties" not in core:
        if least > len(properties):
            return False
        if most is not None and most >= len(properties):
            most = None
    core |= {"minProperties": least} if least > len(required) else {}
    return core | ({"maxProperties": most} if most is not None else {})


def _property(parts: Sequence[Part], part: Part, name: str, document: Document) -> list[Part]:
    """What one of the schemas says of a property."""
    said = part.keywords
    found: list[Part] = []
    if name in said.get("properties", {}):
        found.append(part.inner(said["properties"][name], "properties", name))
    for expression, schema in said.get("patternProperties", {}).items():
        node = expressions.searched(_parsed(part, expression))
        if expressions.found(node, name):
            found.append(part.inner(schema, "patternProperties", expression))
    if not found:
        found += _other(part, any(name in other.keywords.get("properties", {}) for other in parts))
    if "propertyNames" in said and not document.valid(
        part.inner(said["propertyNames"], "propertyNames"), name
    ):
        found.append(part.inner(False, "propertyNames"))
    return found


def _other(part: Part, evaluated: bool) -> list[Part]:
    """What a schema says of properties that it does not name."""
    for keyword in ("additionalProperties", *(() if evaluated else ("unevaluatedProperties",))):
        if keyword in part.keywords:
            return [part.inner(part.keywords[keyword], keyword)]
    return []


def _others(parts: Sequence[Part], lower: Lower, named: bool, *, closed: bool, few: bool) -> dict[str, Any]:
    """What may be in an object besides the properties that are named, which may be too few."""
    patterned = [
        (part, expression, schema)
        for part, schemas in said_by(parts, "patternProperties")
        for expression, schema in schemas.items()
    ]
    said = [schema for part in parts for schema in _other(part, False)]
    more = lower(said)
    if closed or (named and not few and (patterned or not said)) or (more is False and not patterned):
        return {"additionalProperties": False}
    if patterned:
        part, expression, schema = patterned[0]
        at = f"{part.at}/patternProperties"
        if named or len(patterned) > 1 or len(said) > 1 or said_by(parts, "propertyNames"):
            raise GrammarUnsupported(f"{at}: only one pattern can be enforced")
        core = lower([part.inner(schema, "patternProperties", expression)])
        if core is False:
            raise GrammarUnsupported(f"{at}: names cannot be forbidden by a pattern")
        text = _name_pattern(part, expression)
        return {"patternProperties": {text: core}, "additionalProperties": False}
    return {"additionalProperties": more} | _names(parts, lower, named)


def _names(parts: Sequence[Part], lower: Lower, named: bool) -> dict[str, Any]:
    schemas = [part.inner(value, "propertyNames") for part, value in said_by(parts, "propertyNames")]
    if not schemas:
        return {}
    core = mapping(lower([*schemas, schemas[0].inner({"type": "string"})]))
    if named or core is None or not core.keys() & {"pattern", "enum"}:
        raise GrammarUnsupported(f"{schemas[0].at} cannot be enforced")
    return {"propertyNames": {keyword: value for keyword, value in core.items() if keyword != "type"}}


def _name_pattern(part: Part, expression: str) -> str:
    node = expressions.searched(_parsed(part, expression))
    return f"^({expressions.text_of(expressions.limited(node, IN_STRING))})$"


def _parsed(part: Part, expression: str) -> expressions.Node:
    try:
        return patterns.parse(expression)
    except GrammarUnsupported as error:
        raise GrammarUnsupported(f"{part.at}/patternProperties: {error}") from error
