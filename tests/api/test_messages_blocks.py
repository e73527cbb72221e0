"""Anthropic's blocks to and from what templates and the engine know."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fireside.api.constraints import ToolChoice
from fireside.api.messages_blocks import conversation_of
from fireside.api.messages_events import Blocks, WholeContent
from fireside.api.messages_format import (
    IncomingMessage,
    MessagesBody,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from fireside.api.messages_task import task_of
from fireside.http.errors import BadRequest
from fireside.text.markup import (
    CallArguments,
    CallFinished,
    CallStarted,
    ContentText,
    MarkupEvent,
    Outcome,
    ReasoningText,
)
from fireside.text.messages import ChatMessage, FunctionCall
from support.messages import BASH, CALL, IMAGE, SCHEMA, assistant, body_of, user


def conversation(*messages: dict[str, Any], system: Any = None) -> list[ChatMessage]:
    return conversation_of(system, msgspec.convert(list(messages), list[IncomingMessage]))


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value, "cache_control": {"type": "ephemeral"}}


def result(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **fields}


def test_calls_and_results_become_what_templates_know() -> None:
    assert conversation(
        user("Run `ls`"),
        assistant(text("One moment."), CALL),
        user(text("And then?"), result([text("a"), text("b")])),
    ) == [
        ChatMessage("user", "Run `ls`"),
        ChatMessage("assistant", "One moment.", calls=(FunctionCall("bash", {"command": "ls"}, "toolu_1"),)),
        ChatMessage("tool", "a\n\nb", call_id="toolu_1", name="bash"),
        ChatMessage("user", "And then?"),
    ]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (result("no such file", is_error=True), "Error: no such file"),
        (result("Error: no such file", is_error=True), "Error: no such file"),
        (result(None, is_error=True), "Error"),
        (result("fine", is_error=False), "fine"),
        (result([]), ""),
        ({"type": "tool_result", "tool_use_id": "toolu_1"}, ""),
    ],
)
def test_a_failure_says_so(block: dict[str, Any], expected: str) -> None:
    assert conversation(user(block, text("x")))[0].content == expected


def test_thoughts_stay_in_the_turn_that_is_going_on() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "abc"}
    hidden = {"type": "redacted_thinking", "data": "xyz"}
    messages = conversation(
        user("one"),
        assistant(thought, hidden, text("1")),
        user("two"),
        assistant(thought, CALL),
        user(result("x"), result("y")),
    )
    assert [message.reasoning for message in messages if message.role == "assistant"] == ["", "hm"]


def test_neighbours_of_one_role_become_one_message() -> None:
    messages = conversation(
        user("a"), user(text("b"), text("c")), assistant("d"), assistant(text("e"), text("f")), user("g")
    )
    assert [(message.role, message.content) for message in messages] == [
        ("user", "a\n\nb\n\nc"),
        ("assistant", "d\n\nef"),
        ("user", "g"),
    ]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "document", "title": "T", "source": {"type": "text", "data": "d"}}, "T\nd"),
        ({"type": "document", "context": "C", "source": {"type": "content", "content": "d"}}, "C\nd"),
        ({"type": "document", "source": {"type": "content", "content": [text("d"), text("e")]}}, "d\n\ne"),
        ({"type": "search_result", "title": "T", "source": "s", "content": [text("d")]}, "T\ns\nd"),
        ({"type": "note_of_tomorrow", "text": "kept", "extra": [1]}, "kept"),
    ],
)
def test_what_has_text_is_read(block: dict[str, Any], expected: str) -> None:
    assert conversation(user(block, text("?")))[0].content == f"{expected}\n\n?"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "note_of_tomorrow"},
        {"type": "server_tool_use", "id": "x", "name": "web_search", "input": {}},
        {"type": "document", "source": {"type": "content", "content": [IMAGE]}},
        {"type": "document", "source": {"type": "content", "content": 3}},
        {"type": "document", "source": {"type": "text", "data": "d"}, "citations": {"enabled": True}},
        result([IMAGE]),
        result({"a": 1}),
    ],
)
def test_what_has_none_is_refused_by_its_place(block: dict[str, Any]) -> None:
    with pytest.raises(BadRequest) as refused:
        conversation(user(text("a"), block))
    assert refused.value.param is not None
    assert refused.value.param.startswith("messages[0].content[1]")


def asked_of(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> tuple[Any, ...]:
    """What the constraint of a body is made of."""
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr("fireside.api.messages_task.constraint_of", lambda *made_of: seen.append(made_of))
    served: Any = SimpleNamespace(thinking=None, text=None)
    task_of(msgspec.convert(body_of("a", **fields), MessagesBody), served)
    ((body, tools, choice, _, names),) = seen
    return body.response_format, [tool["function"]["name"] for tool in tools], choice, names


@pytest.mark.parametrize(
    ("choice", "shown", "expected"),
    [
        (None, ["bash", "read"], ToolChoice()),
        ({"type": "auto", "disable_parallel_tool_use": True}, ["bash", "read"], ToolChoice(parallel=False)),
        ({"type": "any"}, ["bash", "read"], ToolChoice("required")),
        ({"type": "tool", "name": "read"}, ["read"], ToolChoice("required", "read")),
        ({"type": "none"}, [], ToolChoice("none")),
    ],
)
def test_a_tool_choice_is_translated(
    monkeypatch: pytest.MonkeyPatch, choice: Any, shown: list[str], expected: ToolChoice
) -> None:
    fields = {"tools": [BASH, {**BASH, "name": "read"}], "tool_choice": choice}
    assert asked_of(monkeypatch, **fields)[1:3] == (shown, expected)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"output_config": {"format": SCHEMA}}, "output_config.format"),
        ({"output_format": SCHEMA}, "output_format"),
    ],
)
def test_a_format_is_strict_and_keeps_its_name(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], name: str
) -> None:
    wanted, *_, names = asked_of(monkeypatch, **fields)
    assert wanted["json_schema"] == {"name": "output", "schema": {"type": "object"}, "strict": True}
    assert names["response_format"] == name


def whole(pieces: Iterable[MarkupEvent]) -> list[Any]:
    blocks, content = Blocks(), WholeContent()
    for piece in pieces:
        for event in blocks.add(piece):
            content.add(event)
    for event in blocks.finish():
        content.add(event)
    return content.blocks


def call(index: int, arguments: str, outcome: Outcome = Outcome.COMPLETE) -> list[MarkupEvent]:
    pieces = [CallArguments(index, character) for character in arguments]
    return [CallStarted(index, f"call_{index}", "f"), *pieces, CallFinished(index, outcome)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("{}", {}),
        ('{"a": ', {"_raw": '{"a": '}),
        ("[1]", {"_raw": "[1]"}),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_text(arguments: str, expected: dict[str, Any]) -> None:
    assert whole(call(0, arguments)) == [ToolUseBlock("toolu_0", "f", expected)]


def test_white_space_between_blocks_is_no_text() -> None:
    pieces = [ReasoningText("hm"), ContentText("\n"), *call(0, "{}"), ContentText("\n"), *call(1, "{}")]
    kinds = [type(block) for block in whole(pieces)]
    assert kinds == [ThinkingBlock, ToolUseBlock, ToolUseBlock]
    assert whole([ContentText(" "), ContentText("day")]) == [TextBlock(" day")]
    assert whole([ContentText("\n")]) == [TextBlock("\n")]
    assert whole([*call(0, "{}"), ContentText("\n")]) == [ToolUseBlock("toolu_0", "f", {})]
