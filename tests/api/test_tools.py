"""Tool calls and reasoning on `/v1/chat/completions`, through the real `openai` client and model."""

import json
from typing import Any

import httpx
import openai
import pytest

from support.server import Server


def tool(name: str, **properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {k: {"type": v} for k, v in properties.items()}}
    parameters = {**schema, "required": list(properties)}
    return {
        "type": "function",
        "function": {"name": name, "description": f"{name}.", "parameters": parameters},
    }


BASH = tool("bash", command="string")
READ = tool("read", path="string")
WRITE = tool("write", path="string", content="string")
LIST = [{"role": "user", "content": "Run `ls -la /tmp`"}]
BOTH = [{"role": "user", "content": "Run `ls -la` and read notes.md"}]


def ask(client: openai.OpenAI, messages: list[Any], *, thinking: bool = False, **options: Any) -> Any:
    extra = {"chat_template_kwargs": {"enable_thinking": thinking}, **options.pop("extra_body", {})}
    return client.chat.completions.create(
        model="any", messages=messages, temperature=0, extra_body=extra, **options
    )


def joined(chunks: Any) -> tuple[dict[str, Any], str]:
    """A stream put together the way clients do, and its finish reason."""
    message: dict[str, Any] = {"content": "", "reasoning": "", "calls": {}}
    finish = ""
    for chunk in chunks:
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            message["content"] += choice.delta.content or ""
            message["reasoning"] += getattr(choice.delta, "reasoning", None) or ""
            for call in choice.delta.tool_calls or []:
                known = message["calls"].setdefault(call.index, {"id": call.id, "name": "", "arguments": ""})
                assert call.id in (None, known["id"])
                known["name"] += call.function.name or ""
                known["arguments"] += call.function.arguments or ""
    return message, finish


def test_a_call_comes_whole(client: openai.OpenAI) -> None:
    (choice,) = ask(client, LIST, tools=[READ, BASH]).choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    (call,) = choice.message.tool_calls
    assert call.type == "function"
    assert call.id.startswith("call_")
    assert call.function.name == "bash"
    assert json.loads(call.function.arguments) == {"command": "ls -la /tmp"}


@pytest.mark.parametrize("question", [LIST, BOTH])
def test_a_stream_makes_the_same_calls_piece_by_piece(client: openai.OpenAI, question: list[Any]) -> None:
    whole = ask(client, question, tools=[READ, BASH]).choices[0].message.tool_calls
    message, finish = joined(ask(client, question, tools=[READ, BASH], stream=True))
    assert finish == "tool_calls"
    assert message["content"] == ""
    calls = [message["calls"][index] for index in range(len(whole))]
    assert [(c["name"], c["arguments"]) for c in calls] == [
        (c.function.name, c.function.arguments) for c in whole
    ]
    assert len({call["id"] for call in calls}) == len(calls)


def test_two_calls_in_one_answer_have_their_own_index_and_id(client: openai.OpenAI) -> None:
    one, two = ask(client, BOTH, tools=[READ, BASH]).choices[0].message.tool_calls
    assert [one.function.name, two.function.name] == ["bash", "read"]
    assert one.id != two.id


def test_the_result_of_a_call_is_reported(client: openai.OpenAI) -> None:
    call = ask(client, LIST, tools=[BASH]).choices[0].message
    result = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "total 3\nnotes.md"}
    history = [*LIST, call.model_dump(exclude_none=True), result]
    answer = ask(client, history, tools=[BASH]).choices[0]
    assert answer.message.content == "It says: total 3"
    assert answer.finish_reason == "stop"


def test_text_before_a_call_is_content(client: openai.OpenAI) -> None:
    question = [{"role": "user", "content": "Say `one moment` and run `date`"}]
    message = ask(client, question, tools=[BASH]).choices[0].message
    assert message.content == "one moment\n"
    assert message.tool_calls[0].function.arguments == '{"command": "date"}'


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("max_tokens", [4, 14, 20])
def test_a_call_that_is_cut_off_is_never_completed(
    client: openai.OpenAI, stream: bool, max_tokens: int
) -> None:
    reply = ask(client, LIST, tools=[BASH], max_tokens=max_tokens, stream=stream)
    if stream:
        message, finish = joined(reply)
        content, arguments = message["content"], [c["arguments"] for c in message["calls"].values()]
    else:
        (choice,) = reply.choices
        finish, content = choice.finish_reason, choice.message.content or ""
        arguments = [c.function.arguments for c in choice.message.tool_calls or []]
    assert finish == "length"
    assert content or arguments
    for text in arguments:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


def test_without_tools_or_with_choice_none_nothing_is_called(client: openai.OpenAI) -> None:
    for options in ({}, {"tools": [BASH], "tool_choice": "none"}):
        (choice,) = ask(client, LIST, **options).choices
        assert choice.message.tool_calls is None
        assert choice.message.content == "I have no tool for that."


@pytest.mark.parametrize("stream", [False, True])
def test_thoughts_are_told_apart_from_the_answer(client: openai.OpenAI, stream: bool) -> None:
    question = [{"role": "user", "content": "Repeat: one fine day"}]
    reply = ask(client, question, thinking=True, stream=stream)
    if stream:
        message, _ = joined(reply)
        content, reasoning = message["content"], message["reasoning"]
    else:
        content, reasoning = reply.choices[0].message.content, reply.choices[0].message.reasoning
    assert content == "one fine day"
    assert reasoning == "The user wants me to repeat something."


def test_thinking_that_is_cut_off_is_reasoning_only(client: openai.OpenAI) -> None:
    question = [{"role": "user", "content": "Repeat: one fine day"}]
    (choice,) = ask(client, question, thinking=True, max_tokens=5).choices
    assert choice.message.content == ""
    assert choice.message.reasoning
    assert choice.finish_reason == "length"


@pytest.mark.parametrize(
    ("body", "thinks"),
    [
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "low"}, True),
        ({"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": True}}, True),
        ({"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}}, False),
        ({}, True),
    ],
)
def test_who_decides_whether_it_thinks(server: Server, body: dict[str, Any], thinks: bool) -> None:
    question = {"messages": [{"role": "user", "content": "hello"}], "temperature": 0, **body}
    message = server.post("/v1/chat/completions", question)["choices"][0]["message"]
    assert ("reasoning" in message) is thinks
    assert message["content"] == "Hello! How can I help you?"


def test_a_stop_text_ends_the_content_and_not_the_thoughts(client: openai.OpenAI) -> None:
    question = [{"role": "user", "content": "Repeat: one user day"}]
    (choice,) = ask(client, question, thinking=True, stop=["user"]).choices
    assert choice.message.content == "one "
    assert "user" in choice.message.reasoning
    assert choice.finish_reason == "stop"


@pytest.mark.parametrize("content", [None, "", "absent"])
def test_an_answer_that_was_only_a_call_may_come_back_without_content(
    server: Server, content: str | None
) -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "length", "arguments": '{"text": "fern"}'},
    }
    answer = {"role": "assistant", "tool_calls": [call]} | (
        {} if content == "absent" else {"content": content}
    )
    history = [
        {"role": "user", "content": "How long is fern?"},
        answer,
        {"role": "tool", "tool_call_id": "call_1", "content": "4"},
        {"role": "user", "content": "And?"},
    ]
    usage = server.post("/v1/chat/completions", {"messages": history, "max_tokens": 4})["usage"]
    plain = [history[0], {"role": "assistant", "tool_calls": [call], "content": None}, *history[2:]]
    expected = server.post("/v1/chat/completions", {"messages": plain, "max_tokens": 4})["usage"]
    assert usage["prompt_tokens"] == expected["prompt_tokens"]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"type": "function", "function": {"name": ""}}]}, "tools[0].function.name"),
        ({"tools": [tool("two\nlines")]}, "tools[0].function.name"),
        ({"tools": [tool(" ")]}, "tools[0].function.name"),
        ({"tools": "bash"}, "tools"),
        ({"chat_template_kwargs": {"tokenize": False}}, "chat_template_kwargs"),
        ({"chat_template_kwargs": 3}, "chat_template_kwargs"),
        ({"continue_final_message": True}, "continue_final_message"),
    ],
)
def test_a_wrong_field_is_named(server: Server, change: dict[str, Any], param: str) -> None:
    reply = httpx.post(
        f"{server.url}/v1/chat/completions", json={"messages": LIST, "max_tokens": 1, **change}
    )
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ('{"a": 1}', 200),
        ("{}", 200),
        ("", 200),
        ("[]", 400),
        ("x", 400),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", 400),
    ],
)
def test_arguments_that_are_no_object_are_refused_by_name(
    server: Server, arguments: str, status: int
) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = [*LIST, {"role": "assistant", "content": None, "tool_calls": [call]}]
    reply = httpx.post(f"{server.url}/v1/chat/completions", json={"messages": messages, "max_tokens": 1})
    assert reply.status_code == status
    if status == 400:
        assert reply.json()["error"]["param"] == "messages[1].tool_calls[0].function.arguments"


def test_an_answer_is_continued_where_it_stopped(client: openai.OpenAI) -> None:
    history = [
        {"role": "user", "content": "Repeat: one fine day"},
        {"role": "assistant", "content": "one fine"},
    ]
    (choice,) = ask(client, history, extra_body={"continue_final_message": True}).choices
    assert choice.message.content == " day"


def test_a_mark_that_a_user_types_is_text(client: openai.OpenAI) -> None:
    question = [{"role": "user", "content": "Repeat: <|im_end|> is text"}]
    assert ask(client, question).choices[0].message.content == "<|im_end|> is text"
