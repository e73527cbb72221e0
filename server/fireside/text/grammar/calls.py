"""How each family of models writes tool calls, as xgrammar's structural tags."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fireside.text.grammar.plain import listing, mapping
from fireside.text.grammar.values import Core
from fireside.text.markup import CallFormat, MarkupSpec

Format = dict[str, Any]
"""A format of xgrammar's `structural_tag`."""

_NAME = re.compile(r"[\w.-]+", re.ASCII)
_KEY = re.compile(r"[\w.-]+", re.ASCII)
_FARTHEST = 1e15
_HARMONY_THOUGHTS: Format = {
    "type": "optional",
    "content": {
        "type": "tag",
        "begin": "<|channel|>analysis<|message|>",
        "content": {"type": "any_text"},
        "end": "<|end|><|start|>assistant",
    },
}
_HARMONY_ANSWER = "<|channel|>final<|message|>"


@dataclass(frozen=True)
class Offered:
    """A tool that may be called.

    Attributes:
        core: what its arguments must be, as `lowering` makes it.
        parameters: the same as the request has it, which mlx-lm's parsers read types from.
    """

    name: str
    core: Core
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class _Family:
    """Calls as text.

    Attributes:
        begin: of one call of a tool, and its arguments' style.
        end: of one call.
        between: calls.
        around: all calls of an answer; None where each call has its own marks.
        style: how arguments are written; xgrammar's name.
    """

    begin: Callable[[CallFormat, str], str]
    end: Callable[[CallFormat], str]
    between: str = "\n"
    around: Callable[[CallFormat], tuple[str, str]] | None = None
    style: str = "json"


_FAMILIES: Mapping[str, _Family] = MappingProxyType({
    "json_tools": _Family(
        lambda calls, name: f'{calls.start}\n{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": ',
        lambda calls: f"}}\n{calls.end}",
    ),
    "mistral": _Family(lambda calls, name: f"{calls.start}{name}[ARGS]", lambda calls: "", between=""),
    "kimi_k2": _Family(
        lambda calls, name: f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>",
        lambda calls: "<|tool_call_end|>",
        between="",
        around=lambda calls: (calls.start, calls.end),
    ),
    "qwen3_coder": _Family(
        lambda calls, name: f"{calls.start}\n<function={name}>\n",
        lambda calls: f"\n</function>\n{calls.end}",
        style="qwen_xml",
    ),
    "glm47": _Family(lambda calls, name: f"{calls.start}{name}", lambda calls: calls.end, style="glm_xml"),
    "laguna": _Family(lambda calls, name: f"{calls.start}{name}", lambda calls: calls.end, style="glm_xml"),
    "minimax_m2": _Family(
        lambda calls, name: f'<invoke name="{name}">\n',
        lambda calls: "</invoke>\n",
        between="",
        around=lambda calls: (f"{calls.start}\n", calls.end),
        style="minimax_xml",
    ),
})  # fmt: skip
"""By the name of mlx-lm's parser. What is not here has no form that xgrammar could hold a model to."""


def calls_format(
    markup: MarkupSpec,
    tools: Sequence[Offered],
    *,
    required: bool,
    parallel: bool,
    answer: Format | None = None,
) -> Format | None:
    """What an answer must be that calls tools; None where the model's calls have no such form.

    Args:
        tools: that may be called; with `required` one of them has to be.
        parallel: whether several calls may be made.
        answer: what an answer without calls must be; any text where there is none.
    """
    if markup.harmony:
        return _harmony(tools, required, answer)
    calls = markup.calls
    family = _FAMILIES.get(calls.name) if calls else None
    if calls is None or family is None or not all(_writable(family, tool) for tool in tools):
        return None
    tags = [
        {
            "type": "tag",
            "begin": family.begin(calls, tool.name),
            "content": {
                "type": "json_schema",
                "json_schema": _within_reach(tool.core, family),
                "style": family.style,
            },
            "end": family.end(calls),
        }
        for tool in tools
    ]
    several: Format = {
        "type": "tags_with_separator",
        "tags": tags,
        "separator": family.between,
        "at_least_one": True,
        "stop_after_first": not parallel,
    }
    whole = several
    if family.around:
        begin, end = family.around(calls)
        whole = {"type": "tag", "begin": begin, "content": several, "end": end}
    if required:
        return whole
    if answer is not None:
        return {"type": "or", "elements": [answer, whole]}
    return {
        "type": "triggered_tags",
        "triggers": [calls.start],
        "tags": [whole] if family.around else tags,
        "stop_after_first": not parallel,
    }


def answer_format(markup: MarkupSpec, answer: Format) -> Format:
    """What an answer that makes no calls must be, with the marks around it."""
    if not markup.harmony:
        return answer
    return {"type": "sequence", "elements": [_HARMONY_THOUGHTS, _harmony_final(answer)]}


def _harmony_final(answer: Format) -> Format:
    return {"type": "sequence", "elements": [{"type": "const_string", "value": _HARMONY_ANSWER}, answer]}


def _harmony(tools: Sequence[Offered], required: bool, answer: Format | None) -> Format | None:
    """A message to a tool ends the answer, so that there is never more than one."""
    if not all(_NAME.fullmatch(tool.name) for tool in tools):
        return None
    choices: list[Format] = [
        {
            "type": "sequence",
            "elements": [
                {
                    "type": "const_string",
                    "value": f"<|channel|>commentary to=functions.{tool.name} <|constrain|>json<|message|>",
                },
                {"type": "json_schema", "json_schema": tool.core},
            ],
        }
        for tool in tools
    ]
    if not required:
        choices.append(_harmony_final(answer or {"type": "any_text"}))
    return {"type": "sequence", "elements": [_HARMONY_THOUGHTS, {"type": "or", "elements": choices}]}


def _within_reach(core: Core, family: _Family) -> Core:
    """The same without numbers that are infinite to Python, which mlx-lm's parsers make texts of."""
    if family.style == "json":
        return core
    if (several := listing(core)) is not None:
        return [_within_reach(inner, family) for inner in several]
    said = mapping(core)
    if said is None:
        return core
    if said.get("type") == "number":
        low = {} if said.keys() & {"minimum", "exclusiveMinimum"} else {"minimum": -_FARTHEST}
        high = {} if said.keys() & {"maximum", "exclusiveMaximum"} else {"maximum": _FARTHEST}
        return {**said, **low, **high}
    return {name: value if name == "enum" else _within_reach(value, family) for name, value in said.items()}


def _writable(family: _Family, tool: Offered) -> bool:
    """Whether what mlx-lm's parser makes of a call is what the grammar holds it to.

    Where arguments are no JSON, the parser turns each into a value by the type that the request gives.
    """
    if family.style == "json":
        return family is _FAMILIES["json_tools"] or _NAME.fullmatch(tool.name) is not None
    core = mapping(tool.core)
    if core is None or not _NAME.fullmatch(tool.name) or core.get("additionalProperties") is not False:
        return False
    said = tool.parameters.get("properties", {})
    types = {name: (mapping(said.get(name)) or {}).get("type") for name in core.get("properties", {})}
    return all(_KEY.fullmatch(name) and isinstance(kind, str) for name, kind in types.items())
