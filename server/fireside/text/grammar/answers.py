"""What a request wants its answer to be, as xgrammar's formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from fireside.text.grammar import expressions, instructions, patterns
from fireside.text.grammar.calls import Format
from fireside.text.grammar.lowering import compact, lowered
from fireside.text.grammar.spec import GrammarSpec, GrammarUnsupported


@dataclass(frozen=True)
class Answer:
    """A form that an answer may be held to.

    Attributes:
        format: by itself or within a structural tag.
        instruction: the same in words, for where it cannot be enforced.
        unsupported: why it cannot be; empty where it can, as far as is known before it is compiled.
        checked: whether an error in compiling it is not the request's.
    """

    format: Format
    instruction: str
    unsupported: str = ""
    checked: bool = True

    @property
    def spec(self) -> GrammarSpec:
        """The grammar of such an answer."""
        match self.format["type"]:
            case "json_schema":
                return GrammarSpec("json_schema", compact(self.format["json_schema"]))
            case "regex":
                return GrammarSpec("regex", self.format["pattern"])
            case "grammar":
                return GrammarSpec("ebnf", self.format["grammar"])
            case _:
                return tag_spec(self.format)


def tag_spec(whole: Format) -> GrammarSpec:
    """A structural tag's grammar."""
    return GrammarSpec("structural_tag", compact({"type": "structural_tag", "format": whole}))


def json_object() -> Answer:
    """Any JSON object."""
    core = {"type": "object", "additionalProperties": True}
    return Answer({"type": "json_schema", "json_schema": core}, instructions.json_object())


def json_schema(schema: Any, name: str = "", description: str = "") -> Answer:
    """JSON that is right by a schema.

    Raises:
        GrammarWrong: the schema is none.
    """
    instruction = instructions.json_schema(schema, name, description)
    try:
        core = lowered(schema)
    except GrammarUnsupported as error:
        return Answer({}, instruction, str(error))
    return Answer({"type": "json_schema", "json_schema": core}, instruction)


def regex(pattern: str) -> Answer:
    """A text that fits a regular expression as a whole.

    Raises:
        GrammarWrong: it is none.
    """
    instruction = instructions.regex(pattern)
    try:
        text = expressions.text_of(expressions.whole(patterns.parse(pattern)))
    except GrammarUnsupported as error:
        return Answer({}, instruction, str(error))
    return Answer({"type": "regex", "pattern": text}, instruction)


def choice(choices: Sequence[str]) -> Answer:
    """One of some texts."""
    elements = [{"type": "const_string", "value": text} for text in dict.fromkeys(choices)]
    only = elements[0] if len(elements) == 1 else {"type": "or", "elements": elements}
    return Answer(only, instructions.choice(choices))


def grammar(text: str) -> Answer:
    """A text that follows a grammar in xgrammar's EBNF."""
    return Answer({"type": "grammar", "grammar": text}, instructions.grammar(text), checked=False)


def structural_tag(whole: Format) -> Answer:
    """A text as a structural tag describes it.

    Raises:
        GrammarWrong: a schema in it is none.
    """
    instruction = instructions.structural_tag(json.dumps(whole, ensure_ascii=False))
    try:
        made = _lowered_within(whole)
    except GrammarUnsupported as error:
        return Answer({}, instruction, str(error))
    return Answer(made, instruction, checked=False)


def _lowered_within(node: Any) -> Any:
    if isinstance(node, list):
        return [_lowered_within(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if fields.get("type") == "json_schema" and "json_schema" in fields:
        return {**fields, "json_schema": lowered(fields["json_schema"])}
    return {name: _lowered_within(value) for name, value in fields.items()}
