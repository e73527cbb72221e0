"""Whether a value is right by a schema, by the reference implementation, but in bounded time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, cast

from fireside.text.grammar import expressions, patterns
from fireside.text.grammar.plain import hashed
from fireside.text.grammar.spec import GrammarUnsupported

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]


class Judge:
    """Tells right values from wrong ones.

    The reference implementation leaves regular expressions to Python's `re`, which may never end and holds
    all threads up meanwhile, and follows references as often as they are met, which may be without end too.

    Args:
        kind: jsonschema's validator class of the dialect.
        spend: called for each keyword that is looked at; raises `GrammarUnsupported` if there are too many.
    """

    def __init__(self, kind: Any, spend: Callable[[], None]) -> None:
        from jsonschema import validators

        known: Mapping[str, Keyword] = kind.VALIDATORS
        self._listed: dict[int, frozenset[Any]] = {}
        own = {name: keyword for name, keyword in {**_OWN, "enum": self._enum}.items() if name in known}
        counted = {name: _counted(keyword, spend) for name, keyword in {**known, **own}.items()}
        self._kind: Any = cast("Any", validators).extend(kind, validators=counted)

    def valid(self, schema: Any, resolver: Any, value: Any) -> bool:
        """Whether a value is right by a schema.

        Raises:
            GrammarUnsupported: that takes too long to find out.
        """
        checker = self._kind.FORMAT_CHECKER
        return bool(self._kind(schema, _resolver=resolver, format_checker=checker).is_valid(value))

    def _enum(self, validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if id(said) not in self._listed:
            self._listed[id(said)] = frozenset(map(hashed, said))
        if hashed(instance) not in self._listed[id(said)]:
            yield ValidationError("it is not listed")


def _counted(keyword: Keyword, spend: Callable[[], None]) -> Keyword:
    @wraps(keyword)
    def counted(validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any] | None:
        spend()
        return keyword(validator, said, instance, schema)

    return counted


def _fits(expression: str, text: str) -> bool:
    return expressions.found(expressions.searched(patterns.parse(expression)), text)


def _pattern(validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not _fits(said, instance):
        yield ValidationError("the pattern is not found")


def _pattern_properties(validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        for expression, inner in said.items():
            for name, value in instance.items():
                if _fits(expression, name):
                    yield from validator.descend(value, inner, path=name, schema_path=expression)


def _additional_properties(validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        named, expressions_ = schema.get("properties", {}), schema.get("patternProperties", {})
        for name, value in instance.items():
            if name not in named and not any(_fits(expression, name) for expression in expressions_):
                yield from validator.descend(value, said, path=name)


def _unique_items(validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if said and validator.is_type(instance, "array") and len(set(map(hashed, instance))) < len(instance):
        yield ValidationError("an item is there twice")


def _unevaluated_properties(validator: Any, said: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object") and instance:
        raise GrammarUnsupported("unevaluatedProperties cannot be enforced of a listed object")
    yield from ()


_OWN: Mapping[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
    "unevaluatedProperties": _unevaluated_properties,
}
