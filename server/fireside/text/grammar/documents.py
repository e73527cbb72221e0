"""JSON schemas as they are written: checked, and their references followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from fireside.text.grammar import patterns
from fireside.text.grammar.judge import Judge
from fireside.text.grammar.plain import listing, mapping
from fireside.text.grammar.spec import GrammarUnsupported, GrammarWrong

if TYPE_CHECKING:
    from referencing._core import Resolver

_ONE = (
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_SEVERAL = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
TYPES = ("null", "boolean", "number", "string", "array", "object")
"""JSON Schema's, but for `integer`, which is a number."""

_LARGEST = 12_000
"""Values in a schema that is looked at; that takes a second or two."""
_LONGEST = 1000
"""Of a list of objects or lists, which are compared with each other."""
_MOST_STEPS = 30_000
"""Of looking at a schema, some ten microseconds each."""

_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")
"""In which nothing counts beside a `$ref`."""


@dataclass(frozen=True)
class Part:
    """A schema within its document.

    Attributes:
        schema: a mapping or a boolean.
        at: a JSON pointer to it, or to the reference that led to it.
    """

    schema: Any
    resolver: Resolver[Any]
    at: str = ""

    @property
    def keywords(self) -> Mapping[str, Any]:
        """What the schema says; nothing for a boolean."""
        return mapping(self.schema) or {}

    def inner(self, schema: Any, *path: str | int) -> Part:
        """A schema inside this one."""
        at = self.at + "".join(f"/{escaped(str(step))}" for step in path)
        if isinstance((mapping(schema) or {}).get("$id"), str):
            from referencing.jsonschema import DRAFT202012

            return Part(schema, self.resolver.in_subresource(DRAFT202012.create_resource(schema)), at)
        return Part(schema, self.resolver, at)


class Document:
    """One schema that is right, if perhaps more than can be enforced.

    Raises:
        GrammarWrong: it is no schema, a reference leads nowhere, or a regular expression is broken.
        GrammarUnsupported: it is written in an unknown dialect.
    """

    def __init__(self, schema: Any) -> None:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012, specification_with

        if not isinstance(schema, dict | bool):
            raise GrammarWrong("a JSON schema is an object or a boolean")
        said = cast("Any", schema)
        dialect: Any = (mapping(said) or {}).get("$schema")
        if dialect is None:
            self._kind: Any = Draft202012Validator
        else:
            self._kind = validator_for(said, default=cast("Any", None)) if isinstance(dialect, str) else None
            if self._kind is None:
                raise GrammarUnsupported(f"the dialect {dialect!r} of JSON Schema is not known")
        self.old = isinstance(dialect, str) and any(draft in dialect for draft in _OLD_DRAFTS)
        self._left = _MOST_STEPS
        self._judge: Judge | None = None
        _refuse_size(schema)
        self._seen: set[int] = set()
        self._checked(schema, "")
        specification = specification_with(dialect, default=DRAFT202012) if dialect else DRAFT202012
        resource = specification.create_resource(said)
        base = resource.id() or ""
        registry: Any = cast("Any", Registry)()
        try:
            resolver = registry.with_resource(base, resource).crawl().resolver(base)
        except RecursionError as error:
            raise GrammarUnsupported("the schema is nested too deeply") from error
        self.root = Part(schema, resolver)
        try:
            self._walked(self.root)
        except RecursionError as error:
            raise GrammarUnsupported("the schema is nested too deeply") from error

    def target(self, part: Part) -> Part:
        """Where the reference of a part leads."""
        from referencing.exceptions import Unresolvable

        reference = part.keywords["$ref"]
        try:
            found = part.resolver.lookup(reference)
        except (Unresolvable, ValueError, TypeError, LookupError) as error:
            raise GrammarWrong(
                f"{part.at}/$ref: {reference!r} leads nowhere; it can only lead into the schema itself"
            ) from error
        target = Part(found.contents, found.resolver, f"{part.at}/$ref")
        if not isinstance(found.contents, bool) and id(found.contents) not in self._seen:
            self._checked(target.schema, target.at)
            self._walked(target)
        return target

    def valid(self, part: Part, value: Any) -> bool:
        """Whether a value is right by a part, by the reference implementation.

        Raises:
            GrammarUnsupported: that takes too long to find out.
        """
        if isinstance(part.schema, bool):
            return part.schema
        if self._judge is None:
            self._judge = Judge(self._kind, self.spend)
        return self._judge.valid(part.schema, part.resolver, value)

    def spend(self) -> None:
        """Count a step of what a schema makes work: some would make it for ever.

        Raises:
            GrammarUnsupported: there have been too many.
        """
        self._left -= 1
        if self._left < 0:
            raise GrammarUnsupported("the schema takes too much work: its parts combine in too many ways")

    def _checked(self, schema: Any, at: str) -> None:
        from jsonschema.exceptions import SchemaError

        try:
            self._kind.check_schema(schema, format_checker=_no_formats())
        except SchemaError as error:
            inside = "".join(f"/{escaped(str(step))}" for step in error.absolute_path)
            message = error.message[:200]
            if error.absolute_path and error.absolute_path[-1] == "type":
                kinds = ", ".join((*TYPES, "integer"))
                message = f"{str(error.instance)[:60]!r} is no type; there are {kinds}"
            raise GrammarWrong(f"{at}{inside}: {message}") from error
        except RecursionError as error:
            raise GrammarUnsupported("the schema is nested too deeply") from error

    def _walked(self, part: Part) -> None:
        """Check references and regular expressions, which the schema of schemas does not know."""
        for inner in self._walk(part):
            self._patterns(inner)
            if isinstance(inner.keywords.get("$ref"), str):
                self.target(inner)

    def _walk(self, part: Part) -> Iterator[Part]:
        """All schemas within one, itself included."""
        said: object = part.schema
        if not isinstance(said, dict | bool):
            raise GrammarWrong(f"{part.at}: there is no JSON schema")
        if not isinstance(said, bool):
            if id(part.schema) in self._seen:
                return
            self._seen.add(id(part.schema))
        yield part
        for inner in subschemas(part):
            yield from self._walk(inner)

    def _patterns(self, part: Part) -> None:
        named = part.keywords.get("patternProperties")
        expressions = {"pattern": part.keywords.get("pattern")}
        expressions |= {f"patternProperties/{escaped(name)}": name for name in named or ()}
        for at, expression in expressions.items():
            if isinstance(expression, str):
                try:
                    patterns.parse(expression)
                except GrammarWrong as error:
                    raise GrammarWrong(f"{part.at}/{at}: {error}") from error
                except GrammarUnsupported:
                    pass  # where it is needed it is refused


def _refuse_size(schema: Any) -> None:
    left, counted = [schema], 0
    while left:
        value = left.pop()
        counted += 1
        if counted > _LARGEST:
            raise GrammarUnsupported(f"the schema has more than {_LARGEST} values in it")
        object_, several = mapping(value), listing(value)
        left += object_.values() if object_ is not None else several or ()
        if several and sum(isinstance(item, dict | list) for item in several) > _LONGEST:
            raise GrammarUnsupported(f"the schema has a list of more than {_LONGEST} objects or lists")


def subschemas(part: Part) -> Iterator[Part]:
    """The schemas directly within one."""
    for keyword in _ONE:
        value = part.keywords.get(keyword)
        if isinstance(value, dict | bool):
            yield part.inner(value, keyword)
    for keyword in _SEVERAL:
        several = listing(part.keywords.get(keyword)) or []
        yield from (part.inner(value, keyword, index) for index, value in enumerate(several))
    for keyword in _NAMED:
        schemas = (mapping(part.keywords.get(keyword)) or {}).items()
        yield from (part.inner(v, keyword, name) for name, v in schemas if isinstance(v, dict | bool))


def escaped(step: str) -> str:
    """A step of a JSON pointer."""
    return step.replace("~", "~0").replace("/", "~1")


@cache
def _no_formats() -> Any:
    """Regular expressions are read by us, who tell broken ones from those that Python does not know."""
    from jsonschema import FormatChecker

    return FormatChecker(formats=())
