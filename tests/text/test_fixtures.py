"""Answers that broke other parsers: the same result whole, in the pieces listed, and one character at a time.

Each answer goes through the parser and both of the chat route's encoders, as a stream and as a whole message.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from fireside.api.chat_format import ChatBody, Message
from fireside.api.chat_pieces import WholeMessage, delta_of
from fireside.api.chat_task import task_of
from fireside.api.generation import Served
from fireside.engine.engine import Engine
from fireside.http.errors import BadRequest
from fireside.text.markup import AnswerParser, CallFinished, MarkupEvent, MarkupSpec, Outcome
from fireside.text.model import TextModel
from text.test_markup import cut, spec_of
from text.test_template import LOOPS_OVER_ARGUMENTS, Loaded

HARMONY = MarkupSpec(harmony=True)
UNLOADED = Served("m", cast(TextModel, SimpleNamespace(markup=MarkupSpec())), cast(Engine, None))
"""All that a body needs of a model to become a task."""


def tool(name: str, **properties: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    tool("ping", n="integer"),
    tool("set_light", room="string", on="boolean", level="integer"),
    tool("list_rooms"),
    tool("convert", amount="number", unit="string"),
    tool("write_file", path="string", content="string"),
]


@dataclass
class Read:
    """An answer as a client has it in the end.

    Attributes:
        calls: name and the text of the arguments.
        complete: how many of the calls may be run.
    """

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    complete: int = 0


def events_of(
    spec: MarkupSpec, pieces: Sequence[str], truncated: bool, thinking_open: bool
) -> list[MarkupEvent]:
    parser = AnswerParser(spec, TOOLS, thinking_open)
    return [*(event for piece in pieces for event in parser.feed(piece)), *parser.finish(truncated)]


def streamed(events: Sequence[MarkupEvent]) -> Read:
    """Deltas put together the way clients do; a call's id and name come once, first, and ids differ."""
    read, ids = Read(), list[str]()
    for event in events:
        if isinstance(event, CallFinished):
            read.complete += event.outcome is Outcome.COMPLETE
        if (delta := delta_of(event)) is None:
            continue
        read.content += delta.content or ""
        read.reasoning += delta.reasoning or ""
        for call in delta.tool_calls or []:
            if call.index == len(read.calls):
                assert call.id
                assert call.function.name
                ids.append(call.id)
                read.calls.append((call.function.name, ""))
            else:
                assert call.index == len(read.calls) - 1
                assert call.id is call.function.name is call.type is None
            name, arguments = read.calls[-1]
            read.calls[-1] = name, arguments + (call.function.arguments or "")
    assert len(set(ids)) == len(ids)
    return read


def whole(events: Sequence[MarkupEvent]) -> Read:
    message = WholeMessage()
    complete = 0
    for event in events:
        message.add(event)
        complete += isinstance(event, CallFinished) and event.outcome is Outcome.COMPLETE
    wire: Message = message.as_wire()
    calls = [] if wire.tool_calls is msgspec.UNSET else wire.tool_calls
    reasoning = "" if wire.reasoning is msgspec.UNSET else wire.reasoning
    texts = [(call.function.name, call.function.arguments) for call in calls]
    return Read(wire.content or "", reasoning, texts, complete)


def read(
    spec: MarkupSpec, pieces: Sequence[str], *, truncated: bool = False, thinking_open: bool = False
) -> Read:
    """The one result of an answer, however it is cut and whether it is streamed."""
    text = "".join(pieces)
    rng = random.Random(text)
    ways = [pieces, [text], list(text), *(cut(text, rng) for _ in range(20))]
    results: list[Read] = []
    for way in ways:
        events = events_of(spec, way, truncated, thinking_open)
        results += [streamed(events), whole(events)]
    assert all(result == results[0] for result in results)
    return results[0]


def decoded(result: Read) -> list[tuple[str, Any]]:
    assert result.complete == len(result.calls)
    return [(name, json.loads(arguments)) for name, arguments in result.calls]


def test_a_last_piece_that_is_only_the_end_of_a_marker() -> None:
    pieces = ['<tool_call>\n{"name": "ping", "arguments": {"n": 1}}', "\n</tool_", "call>"]
    result = read(spec_of("json_tools"), pieces)
    assert decoded(result) == [("ping", {"n": 1})]
    assert result.content == ""


def test_braces_that_close_together_with_the_marker_and_a_call_without_arguments() -> None:
    pieces = [
        "<tool",
        '_call>\n{"name": "set_light", "arguments": {"room": "北京", "on": true, "level": 42',
        '}\n}\n</tool_call>\n<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>',
    ]
    result = read(spec_of("json_tools"), pieces)
    light = {"room": "北京", "on": True, "level": 42}
    assert decoded(result) == [("set_light", light), ("list_rooms", {})]
    assert "北京" in result.calls[0][1]
    assert result.content.strip() == ""
    assert result.reasoning == ""


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (
            [
                "<|channel|>anal",
                "ysis<|message|>Miles first.<|end|><|start|>assistant<|channel|>comment",
                'ary to=functions.convert <|constrain|>json<|message|>{"amount": 12.5, "unit": "mile"}',
                "<|call|>",
            ],
            Read("", "Miles first.", [("convert", '{"amount": 12.5, "unit": "mile"}')], 1),
        ),
        (
            [
                "<|channel|>analysis<|message|>No tool here.<|end|>"
                "<|start|>assistant<|channel|>final<|message|>About 20",
                "<|return|>",
            ],
            Read("About 20", "No tool here."),
        ),
        (
            [
                "<|channel|>commentary to=functions.convert<|channel|>commentary "
                '<|constrain|>json<|message|>{"amount": 1, "unit": "yard"}<|call|>'
            ],
            Read("", "", [("convert", '{"amount": 1, "unit": "yard"}')], 1),
        ),
    ],
)
def test_channels_are_told_apart_and_names_end_at_a_control_token(pieces: list[str], expected: Read) -> None:
    result = read(HARMONY, pieces)
    assert decoded(result) == decoded(expected)
    assert (result.content, result.reasoning) == (expected.content, expected.reasoning)


@pytest.mark.parametrize("truncated", [True, False])
def test_a_call_that_is_cut_off_stays_as_it_came(truncated: bool) -> None:
    pieces = [
        '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.txt", ',
        '"content": "line one\\nli',
    ]
    result = read(spec_of("json_tools"), pieces, truncated=truncated)
    assert result == Read(calls=[("write_file", '{"path": "a.txt", "content": "line one\\nli')])


@pytest.mark.parametrize(
    ("pieces", "thinking_open", "expected"),
    [
        (
            ["<thi", "nk>is x<y or ", "not </thin", "g>? yes</th", "ink>", "\n\nSo: four </", " end"],
            False,
            Read("So: four </ end", "is x<y or not </thing>? yes"),
        ),
        (["Both are prime.</thi", "nk>Yes"], True, Read("Yes", "Both are prime.")),
    ],
)
def test_a_tag_in_pieces_ends_the_thoughts_and_what_looks_like_one_does_not(
    pieces: list[str], thinking_open: bool, expected: Read
) -> None:
    result = read(MarkupSpec(think=("<think>", "</think>")), pieces, thinking_open=thinking_open)
    assert Read(result.content.lstrip("\n"), result.reasoning) == expected


@pytest.mark.parametrize(
    ("arguments", "rendered"),
    [('{"a": 1}', "<f>a=1;"), ("{}", "<f>"), ("", "<f>"), ("[]", None), ("not json", None)],
)
def test_arguments_that_come_back_as_text_reach_a_template_as_pairs(
    tmp_path: Path, arguments: str, rendered: str | None
) -> None:
    function = {"name": "f", "arguments": arguments}
    answer = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]}
    body = msgspec.convert({"messages": [{"role": "user", "content": "Go"}, answer]}, ChatBody)
    if rendered is None:
        with pytest.raises(BadRequest) as refused:
            task_of(body, UNLOADED)
        assert refused.value.param == "messages[1].tool_calls[0].function.arguments"
        return
    messages = task_of(body, UNLOADED).messages
    assert Loaded(tmp_path / "model", LOOPS_OVER_ARGUMENTS).text(*messages).endswith(f"[assistant]{rendered}")
