"""The alternatives of a schema: what `allOf`, `anyOf`, `oneOf`, references and dependencies come to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fireside.text.grammar.disjoint import apart
from fireside.text.grammar.documents import TYPES, Document, Part
from fireside.text.grammar.plain import hashed, listing
from fireside.text.grammar.spec import GrammarUnsupported

Conjunction = tuple[Part, ...]
"""Schemas that all hold."""

_MOST = 64
_NEVER = ("$dynamicRef", "$recursiveRef")
_FREE: list[Conjunction] = [()]


class Alternatives:
    """Takes the schemas of a document apart."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._following: list[int] = []

    def of(self, parts: Iterable[Part]) -> list[Conjunction]:
        """Each alternative as the schemas of which only the keywords about values count.

        Raises:
            GrammarUnsupported: something in them can be no part of a grammar, or there are too many.
        """
        return self._all(self._one(part) for part in parts)

    def listed(self, parts: Sequence[Part]) -> list[Any] | None:
        """The values that an `enum` or `const` lists and that all of the schemas allow; None without one."""
        for part in parts:
            values = listing(part.keywords.get("enum"))
            if "const" in part.keywords:
                values = [part.keywords["const"]]
            if values is not None:
                kept: dict[Any, Any] = {}
                for value in values:
                    if (key := hashed(value)) not in kept and self._all_allow(parts, part, value):
                        kept[key] = value
                return list(kept.values())
        return None

    def _all_allow(self, parts: Sequence[Part], listing_one: Part, value: Any) -> bool:
        """Whether a value that one of some schemas lists is right by all of them."""
        for part in parts:
            said = part.keywords
            if part is listing_one and "const" not in said:
                part = replace(part, schema={name: said[name] for name in said if name != "enum"})
            if not self._document.valid(part, value):
                return False
        return True

    def must_be_apart(self, part: Part, branches: Sequence[Part]) -> None:
        """Check that no value can be right by two branches of a `oneOf`."""
        for one, other in itertools.combinations(branches, 2):
            if not apart(self._document, one, other):
                raise GrammarUnsupported(
                    f"{part.at}/oneOf: a value may be right by two of the schemas, which no grammar can rule "
                    "out; say anyOf, or tell them apart by a const in a required property"
                )

    def _all(self, several: Iterable[list[Conjunction]]) -> list[Conjunction]:
        made = _FREE
        for alternatives in several:
            made = [(*one, *other) for one in made for other in alternatives]
            if len(made) > _MOST:
                raise GrammarUnsupported(f"the schema has more than {_MOST} alternatives in one place")
        return made

    def _one(self, part: Part) -> list[Conjunction]:
        if isinstance(part.schema, bool):
            return _FREE if part.schema else []
        self._document.spend()
        if id(part.schema) in self._following:
            raise GrammarUnsupported(f"{part.at}: a schema that contains itself beside other keywords")
        self._following.append(id(part.schema))
        try:
            return self._all(self._factors(part))
        finally:
            self._following.pop()

    def _factors(self, part: Part) -> Iterable[list[Conjunction]]:
        said = part.keywords
        for keyword in _NEVER:
            if keyword in said:
                raise GrammarUnsupported(f"{part.at}/{keyword} cannot be enforced; use $ref")
        if "$ref" in said:
            yield self._one(self._document.target(part))
            if self._document.old:
                return
        yield [(part,)]
        for index, schema in enumerate(said.get("allOf", ())):
            yield self._one(part.inner(schema, "allOf", index))
        for keyword in ("anyOf", "oneOf"):
            if keyword in said:
                branches = [part.inner(schema, keyword, index) for index, schema in enumerate(said[keyword])]
                if keyword == "oneOf":
                    self.must_be_apart(part, branches)
                yield [alternative for branch in branches for alternative in self._one(branch)]
        if "if" in said and ("then" in said or "else" in said):
            raise GrammarUnsupported(f"{part.at}/if cannot be enforced; say anyOf")
        if "not" in said:
            yield self._denied(part.inner(said["not"], "not"))
        yield from self._dependencies(part)

    def _dependencies(self, part: Part) -> Iterable[list[Conjunction]]:
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            for name, needed in part.keywords.get(keyword, {}).items():
                names = listing(needed)
                schema: Any = needed if names is None else {"required": names}
                absent = part.inner({"properties": {name: False}}, keyword, name)
                present = part.inner({"required": [name]}, keyword, name)
                with_it = [(present, *more) for more in self._one(part.inner(schema, keyword, name))]
                yield [(absent,), *with_it]

    def _denied(self, part: Part) -> list[Conjunction]:
        """The alternatives of a `not`."""
        if isinstance(part.schema, bool):
            return [] if part.schema else _FREE
        said = part.keywords
        if not said:
            return []
        if set(said) == {"type"}:
            types: list[str] = [said["type"]] if isinstance(said["type"], str) else said["type"]
            # What is a number but no integer has no grammar.
            taken = {
                *types,
                *(("number",) if "integer" in types else ("integer",) if "number" in types else ()),
            }
            return [(part.inner({"type": [kind for kind in TYPES if kind not in taken]}),)]
        if set(said) == {"required"}:
            return [(part.inner({"type": "object", "properties": {n: False}}),) for n in said["required"]]
        raise GrammarUnsupported(f"{part.at} cannot be enforced")
