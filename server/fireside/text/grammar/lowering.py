"""JSON schemas to equal or narrower ones that xgrammar enforces to the letter.

xgrammar reads JSON schemas, but passes over what it does not know: `not`, `uniqueItems`, what stands beside a
`$ref` or an `anyOf`, `required` names that are no `properties`, bounds without a type, and more. So a schema
is taken apart into alternatives, each with one type and the keywords that xgrammar enforces for it, and what
is left over is refused. Whatever the result allows, the schema allows; the reverse does not hold: an object
with `properties` has no others unless the schema speaks of them, and a schema without a type has the types
that its keywords are about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from fireside.text.grammar.alternatives import Alternatives, Conjunction
from fireside.text.grammar.containers import array_core, object_core
from fireside.text.grammar.documents import TYPES, Document, Part
from fireside.text.grammar.plain import mapping
from fireside.text.grammar.spec import GrammarUnsupported
from fireside.text.grammar.values import Core, check_listed, kinds_of, number_core, string_core

_NOTES = frozenset((
    "$anchor", "$comment", "$defs", "$id", "$schema", "$vocabulary", "contentEncoding", "contentMediaType",
    "contentSchema", "default", "definitions", "deprecated", "description", "example", "examples", "id",
    "readOnly", "title", "writeOnly",
))  # fmt: skip
_DEEPEST = 100
_LARGEST = 20_000
"""Schemas that may come of one."""


def lowered(schema: Any) -> Core:
    """A JSON schema that xgrammar enforces, and whose values are all right by the one given.

    Raises:
        GrammarWrong: the schema is none; the message has a pointer into it.
        GrammarUnsupported: no grammar can enforce it.
    """
    return _Lowering(Document(schema)).whole()


class _Lowering:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._alternatives = Alternatives(document)
        self._done: dict[tuple[int, ...], Core] = {}
        self._open: dict[tuple[int, ...], str] = {}
        self._recursive: set[str] = set()
        self._definitions: dict[str, Core] = {}
        self._kept: list[Conjunction] = []
        self._made = 0

    def whole(self) -> Core:
        try:
            core = self.lower((self._document.root,))
            if core is False or not _finite(core, self._definitions):
                raise GrammarUnsupported("no value of finite size was found that is right by the schema")
        except RecursionError as error:
            raise GrammarUnsupported("the schema is nested too deeply") from error
        if core is True or not self._definitions:
            return core
        return {**core, "$defs": self._definitions}

    def lower(self, parts: Sequence[Part]) -> Core:
        """What is right by all of some schemas; False if nothing is."""
        parts = [part for part in parts if part.schema is not True]
        if any(part.schema is False for part in parts):
            return False
        key = tuple(sorted({id(part.schema) for part in parts}))
        if key in self._done:
            return self._again(key)
        if key in self._open:
            self._recursive.add(self._open[key])
            return {"$ref": f"#/$defs/{self._open[key]}"}
        self._made += 1
        if len(self._open) > _DEEPEST or self._made > _LARGEST:
            raise GrammarUnsupported("the schema is nested too deeply or too large")
        self._kept.append(tuple(parts))  # so that no other schema gets the same id
        name = self._open[key] = str(self._made)
        core = self._lower(parts)
        del self._open[key]
        if name in self._recursive and isinstance(core, dict):
            self._definitions[name] = core
            core = {"$ref": f"#/$defs/{name}"}
        self._done[key] = core
        return core

    def _again(self, key: tuple[int, ...]) -> Core:
        """Written in full each time, schemas could grow without bound: all places get a reference."""
        said = mapping(self._done[key])
        if said is None or not said.keys() & {"properties", "items", "anyOf"}:
            return self._done[key]
        self._made += 1
        name = str(self._made)
        self._definitions[name] = dict(said)
        said.clear()
        said["$ref"] = f"#/$defs/{name}"
        return said

    def _lower(self, parts: list[Part]) -> Core:
        values = self._alternatives.listed(parts)
        if values is not None:
            return one_of_values(values)
        if len(parts) == 1:
            part = parts[0]
            said = part.keywords.keys() - _NOTES
            if said == {"$ref"} or (self._document.old and "$ref" in said):
                return self.lower([self._document.target(part)])
            for keyword in ("anyOf", "oneOf"):
                if said == {keyword}:
                    branches = [part.inner(b, keyword, i) for i, b in enumerate(part.keywords[keyword])]
                    if keyword == "oneOf":
                        self._alternatives.must_be_apart(part, branches)
                    return any_of(self.lower([branch]) for branch in branches)
        return any_of(self._plain(list(plain)) for plain in self._alternatives.of(parts))

    def _plain(self, parts: list[Part]) -> Core:
        """An alternative, of which only keywords about values are left."""
        values = self._alternatives.listed(parts)
        if values is not None:
            return one_of_values(values)
        kinds = kinds_of(parts)
        if not any(part.keywords.keys() - _NOTES - {"type"} for part in parts) and len(kinds) == len(TYPES):
            return True
        made: list[Core] = []
        for kind in kinds:
            match kind:
                case "integer" | "number":
                    made.append(number_core(parts, kind))
                case "string":
                    made.append(string_core(parts))
                case "array":
                    made.append(array_core(parts, self.lower))
                case "object":
                    made.append(object_core(parts, self.lower, self._document))
                case _:
                    made.append({"type": kind})
        return any_of(made)


def any_of(cores: Iterable[Core]) -> Core:
    """What is right by one of several."""
    branches: list[Core] = []
    for core in cores:
        if core is True:
            return True
        said = mapping(core) or {}
        inner: list[Core] = said["anyOf"] if set(said) == {"anyOf"} else [core]
        branches += [b for b in inner if b is not False and b not in branches]
    if not branches:
        return False
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def one_of_values(values: Sequence[Any]) -> Core:
    """One of some values."""
    for value in values:
        check_listed(value)
    return {"enum": list(values)} if values else False


def _finite(core: Core, definitions: dict[str, Core]) -> bool:
    """Whether a value of finite size is right."""
    known: set[str] = set()

    def finite(core: Core) -> bool:
        if isinstance(core, bool):
            return core
        if "$ref" in core:
            return core["$ref"].rpartition("/")[2] in known
        if "anyOf" in core:
            return any(map(finite, core["anyOf"]))
        needed: list[Core] = [core["properties"][name] for name in core.get("required", ())]
        prefix: list[Core] = core.get("prefixItems", [])
        least: int = core.get("minItems", 0)
        needed += prefix[:least]
        if least > len(prefix):
            needed.append(core.get("items", True))
        return all(map(finite, needed))

    before = -1
    while len(known) != before:
        before = len(known)
        known |= {name for name, definition in definitions.items() if finite(definition)}
    return finite(core)


def compact(core: Core) -> str:
    """A lowered schema as text."""
    return json.dumps(core, ensure_ascii=False, separators=(",", ":"))
