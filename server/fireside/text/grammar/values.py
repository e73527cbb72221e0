"""What xgrammar enforces of each type of value, out of the keywords of schemas that all hold."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from fireside.text.grammar import expressions, patterns
from fireside.text.grammar.characters import IN_STRING
from fireside.text.grammar.documents import TYPES, Part
from fireside.text.grammar.formats import FORMATS
from fireside.text.grammar.plain import listing, mapping
from fireside.text.grammar.spec import GrammarUnsupported, GrammarWrong

Core = Any
"""A schema in the part of JSON Schema that xgrammar enforces; False where nothing is right by it."""

_ABOUT = {
    "number": ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"),
    "string": ("format", "maxLength", "minLength", "pattern"),
    "array": (
        "additionalItems", "contains", "items", "maxItems", "minItems", "prefixItems", "unevaluatedItems",
        "uniqueItems",
    ),
    "object": (
        "additionalProperties", "maxProperties", "minProperties", "patternProperties", "properties",
        "propertyNames", "required", "unevaluatedProperties",
    ),
}  # fmt: skip
_FAR = 1 << 62
_LARGE, _SMALL = 1e15, 1e-6
_MOST_MULTIPLES = 500


def kinds_of(parts: Sequence[Part]) -> list[str]:
    """The types that a value may have; those that the keywords are about where no type is said."""
    said = [part.keywords["type"] for part in parts if "type" in part.keywords]
    if said:
        left = {*TYPES, "integer"}
        for types in said:
            names = {types} if isinstance(types, str) else set(types)
            left &= names | ({"integer"} if "number" in names else set())
    else:
        keywords = {keyword for part in parts for keyword in part.keywords}
        left = {kind for kind, about in _ABOUT.items() if keywords & set(about)} or set(TYPES)
    return [
        kind for kind in (*TYPES, "integer") if kind in left and not (kind == "integer" and "number" in left)
    ]


def number_core(parts: Sequence[Part], kind: str) -> Core:
    """A number within bounds."""
    low, high = _bounds(parts, low=True), _bounds(parts, low=False)
    step = 1
    for part, value in said_by(parts, "multipleOf"):
        if value != int(value) or value < 1:
            raise GrammarUnsupported(f"{part.at}/multipleOf: only whole numbers can be enforced")
        kind, step = "integer", math.lcm(step, int(value))
    if kind == "number":
        return _number(low, high)
    least = math.floor(low[0]) + 1 if low[1] else math.ceil(low[0]) if low[0] > -math.inf else None
    most = math.ceil(high[0]) - 1 if high[1] else math.floor(high[0]) if high[0] < math.inf else None
    if least is not None and most is not None and least > most:
        return False
    if step > 1 and (least is not None or most is not None):
        return _multiples(parts, step, least, most)
    if (least or 0) > _FAR or (most or 0) < -_FAR:
        raise GrammarUnsupported(f"{parts[0].at}: bounds so far from zero cannot be enforced")
    if step > 1:
        return {"type": "integer", "multipleOf": step}
    # A small model that begins to write digits may not stop; 64 bits hold what programs count and name.
    low_end = max(-_FAR, -_FAR if least is None else least)
    return {"type": "integer", "minimum": low_end, "maximum": min(_FAR, _FAR if most is None else most)}


def _bounds(parts: Sequence[Part], *, low: bool) -> tuple[float, bool]:
    """The narrowest bound and whether it is excluded itself; infinite where there is none."""
    name, excluding = ("minimum", "exclusiveMinimum") if low else ("maximum", "exclusiveMaximum")
    found: list[tuple[float, bool]] = []
    for part in parts:
        value, excluded = part.keywords.get(name), part.keywords.get(excluding)
        if isinstance(excluded, bool):  # as in Draft 4
            found += [(value, excluded)] if value is not None else []
            continue
        found += [(value, False)] if value is not None else []
        found += [(excluded, True)] if excluded is not None else []
    if not found:
        return (-math.inf if low else math.inf), False
    return max(found) if low else min(found, key=lambda bound: (bound[0], not bound[1]))


def _multiples(parts: Sequence[Part], step: int, least: int | None, most: int | None) -> Core:
    if least is None or most is None or (most - least) // step > _MOST_MULTIPLES:
        raise GrammarUnsupported(
            f"{parts[0].at}/multipleOf can be enforced without bounds, or between two that are close"
        )
    values = list(range(-(-least // step) * step, most + 1, step))
    return {"enum": values} if values else False


def _number(low: tuple[float, bool], high: tuple[float, bool]) -> Core:
    core: dict[str, Any] = {"type": "number"}
    for (bound, excluded), name, sign in ((low, "minimum", 1), (high, "maximum", -1)):
        if math.isinf(bound):
            continue
        if 0 < abs(bound) < _SMALL or (abs(bound) > _LARGE and bound * sign > 0):
            raise GrammarUnsupported("a bound of a number so far from one cannot be enforced")
        if abs(bound) <= _LARGE:
            core[f"exclusive{name.capitalize()}" if excluded else name] = bound
        else:
            core[name] = -_LARGE * sign
    if low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1])):
        return False
    return core


def string_core(parts: Sequence[Part]) -> Core:
    """A string of a length, with a pattern or in a format."""
    least = max((value for _, value in said_by(parts, "minLength")), default=0)
    most = min((value for _, value in said_by(parts, "maxLength")), default=None)
    if most is not None and least > most:
        return False
    held: dict[str, tuple[Part, expressions.Node]] = {}
    for part, value in said_by(parts, "pattern"):
        held[value] = part, _read(part, "pattern", value)
    for part, value in said_by(parts, "format"):
        if value in FORMATS:
            expression = FORMATS[value]
            if expression is None:
                raise GrammarUnsupported(f"{part.at}/format: {value!r} cannot be enforced")
            held[f"format {value}"] = part, expressions.whole(patterns.parse(expression))
    if not held:
        if not least and most is None:
            return {"type": "string"}
        # By itself xgrammar lets control characters into strings of limited length.
        node = expressions.Repeat(
            expressions.Chars(IN_STRING), int(least), None if most is None else int(most)
        )
        return {"type": "string", "pattern": f"^({expressions.text_of(node)})$"}
    if len(held) > 1:
        raise GrammarUnsupported(f"{parts[0].at}: a string cannot be held to two patterns or formats at once")
    part, node = next(iter(held.values()))
    try:
        node = expressions.sized(
            expressions.limited(node, IN_STRING), int(least), None if most is None else int(most)
        )
    except GrammarWrong:
        return False
    except GrammarUnsupported as error:
        raise GrammarUnsupported(f"{part.at}: {error}") from error
    return {"type": "string", "pattern": f"^({expressions.text_of(node)})$"}


def _read(part: Part, keyword: str, expression: str) -> expressions.Node:
    try:
        return expressions.searched(patterns.parse(expression))
    except GrammarUnsupported as error:
        raise GrammarUnsupported(f"{part.at}/{keyword}: {error}") from error


def said_by(parts: Sequence[Part], keyword: str) -> list[tuple[Part, Any]]:
    """What each schema that has a keyword says."""
    return [(part, part.keywords[keyword]) for part in parts if keyword in part.keywords]


def check_listed(value: Any) -> None:
    """Whether xgrammar writes a listed value as it is: it reads numbers as 64-bit floats.

    Raises:
        GrammarUnsupported: it does not.
    """
    if isinstance(value, int) and abs(value) > 1 << 53:
        raise GrammarUnsupported(f"the number {value} is too large to be enforced")
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise GrammarUnsupported(f"the text {json.dumps(value)} has half a character")
    for inner in listing(value) or (mapping(value) or {}).values():
        check_listed(inner)
