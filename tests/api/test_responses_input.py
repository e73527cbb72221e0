"""The input of `/v1/responses`: its items, its tools, its instructions, and what is refused."""

from types import SimpleNamespace
from typing import Any

import httpx
import msgspec
import pytest

from fireside.api.constraints import ToolChoice
from fireside.api.responses_conversation import messages_of
from fireside.api.responses_format import ResponsesBody
from fireside.api.responses_items import items_of
from fireside.api.responses_store import ResponseStore
from fireside.api.responses_task import asked_of, our_names
from fireside.http.errors import BadRequest
from support.responses import ROUTE, body_of, error_of, errors_of, function, respond, texts
from support.server import Server

BASH = function("bash", "command")
READ = function("read", "path")
REPEAT = "Repeat: one fine day"


def test_all_ways_to_write_a_text_are_the_same_prompt(server: Server) -> None:
    split = [{"type": "input_text", "text": "Repeat: one "}, {"type": "input_text", "text": "fine day"}]
    given: list[Any] = [
        REPEAT,
        [{"role": "user", "content": REPEAT}],
        [{"type": "message", "role": "user", "content": REPEAT}],
        [{"role": "user", "content": split}],
    ]
    responses = [respond(server, one) for one in given]
    assert {texts(response["output"])[0] for response in responses} == {"one fine day"}
    assert len({response["usage"]["input_tokens"] for response in responses}) == 1


def test_instructions_and_leading_system_texts_are_one_system_message(server: Server) -> None:
    given = [
        {"role": "developer", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": REPEAT},
    ]
    mine = respond(server, given, instructions="Be good.")
    messages = [
        {"role": "system", "content": "Be good.\n\nBe brief.\n\nBe kind."},
        {"role": "user", "content": REPEAT},
    ]
    chat = server.post("/v1/chat/completions", {"messages": messages, "reasoning_effort": "none"})
    assert mine["usage"]["input_tokens"] == chat["usage"]["prompt_tokens"]


def test_a_history_with_calls_is_the_prompt_that_the_chat_route_makes(server: Server) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
    result = {"type": "function_call_output", "call_id": "c1"}
    lines = [{"type": "input_text", "text": "total 3"}, {"type": "input_text", "text": "\nx"}]
    items: list[Any] = [{"role": "user", "content": "Run `ls`"}, call]
    responses = [
        respond(server, [*items, {**result, "output": output}], tools=[BASH])
        for output in ("total 3\nx", lines)
    ]
    chat_call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": call["arguments"]}}
    messages = [
        items[0],
        {"role": "assistant", "content": None, "tool_calls": [chat_call]},
        {"role": "tool", "tool_call_id": "c1", "content": "total 3\nx"},
    ]
    flat = {key: BASH[key] for key in ("name", "description", "parameters")}
    tools = [{"type": "function", "function": flat}]
    body = {"messages": messages, "tools": tools, "reasoning_effort": "none"}
    tokens = server.post("/v1/chat/completions", body)["usage"]["prompt_tokens"]
    assert [response["usage"]["input_tokens"] for response in responses] == [tokens, tokens]
    assert [texts(response["output"]) for response in responses] == [["It says: total 3"]] * 2


def chat_of(items: list[dict[str, Any]], **options: Any) -> list[tuple[str, str, str | None, list[str]]]:
    """Role, content, reasoning and call ids of the messages that items make."""
    raw = [msgspec.Raw(msgspec.json.encode(item)) for item in items]
    return [
        (m.role, str(m.content), m.reasoning, [call.id for call in m.tool_calls or []])
        for m in messages_of(None, items_of(raw, lambda _: None), **options)
    ]


def thought(text: str) -> dict[str, Any]:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}


def call(call_id: str, arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments, **fields}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "4"}


def test_only_the_thoughts_of_the_turn_that_goes_on_are_replayed() -> None:
    items = [
        {"role": "user", "content": "a"},
        thought("old"),
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
        thought("new"),
        call("1"),
        call("2"),
        result("1"),
        result("2"),
    ]
    expected = [
        ("user", "a", None, []),
        ("assistant", "b", None, []),
        ("user", "c", None, []),
        ("assistant", "", "new", ["1", "2"]),
        ("tool", "4", None, []),
        ("tool", "4", None, []),
    ]
    assert chat_of(items) == expected
    assert chat_of(items, all_thoughts=True)[1] == ("assistant", "b", "old", [])


def test_text_and_calls_of_one_answer_are_one_message() -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so "}]}
    user = {"role": "user", "content": "a"}
    assert chat_of([user, said, call("1"), said, result("1"), said])[1:] == [
        ("assistant", "so so ", None, ["1"]),
        ("tool", "4", None, []),
        ("assistant", "so ", None, []),
    ]


def test_a_call_that_was_cut_off_does_not_break_the_next_turn(server: Server) -> None:
    cut = respond(server, "Run `ls -la /tmp`", tools=[BASH], max_output_tokens=18)
    (item,) = cut["output"]
    assert item["status"] == "incomplete"
    output = {"type": "function_call_output", "call_id": item["call_id"], "output": "Error: cut off"}
    after = respond(server, [output], previous_response_id=cut["id"], tools=[BASH])
    assert after["status"] == "completed"


USER = {"role": "user", "content": "x"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"input": []}, "input"),
    ({"input": None}, "input"),
    ({"input": 3}, "input"),
    ({"input": [3]}, "input[0]"),
    ({"input": [{}]}, "input[0]"),
    ({"input": [{"role": "wizard", "content": "x"}]}, "input[0].role"),
    ({"input": [{"role": "user"}]}, "input[0].content"),
    ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0]"),
    ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input[0].content[0]"),
    ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input[0].content[0]"),
    ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0]"),
    ({"input": [USER, {"type": "web_search_call", "id": "ws_1"}]}, "input[1]"),
    ({"input": [USER, call("1", "[]")]}, "input[1].arguments"),
    ({"input": [USER, call("1", "not json")]}, "input[1].arguments"),
    ({"input": [USER, call("1", '{"a": ' + "[" * 100_000)]}, "input[1].arguments"),
    ({"input": [USER, {"type": "function_call", "name": "f", "arguments": ""}]}, "input[1].call_id"),
    ({"input": [USER, result("1")]}, "input[1].call_id"),
    ({"input": [USER, {**result("1"), "output": [{"type": "input_image"}]}]}, "input[1].output[0]"),
    ({"instructions": 3}, "instructions"),
    ({"background": True}, "background"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"prompt": {"id": "pmpt_1"}}, "prompt"),
    ({"context_management": [{"type": "compaction"}]}, "context_management"),
    ({"moderation": {"model": "m"}}, "moderation"),
    ({"truncation": "auto"}, "truncation"),
    ({"include": ["everything"]}, "include[0]"),
    ({"reasoning": {"effort": "enormous"}}, "reasoning.effort"),
    ({"reasoning": {"mode": "pro"}}, "reasoning.mode"),
    ({"prompt_cache_options": {"prewarm": True}}, "prompt_cache_options.prewarm"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"temperature": -1}, "temperature"),
    ({"metadata": {"k": "v" * 513}}, "metadata[...]"),
    ({"text": {"format": {"type": "yaml"}}}, "text.format.type"),
    ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
    ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name"),
    ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"tools": [{"name": "f"}]}, "tools[0].type"),
    ({"tools": [{"type": "function"}]}, "tools[0].name"),
    ({"tools": [{"type": "function", "name": "two\nlines"}]}, "tools[0].name"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": "perhaps"}, "tool_choice"),
    ({"tool_choice": {"type": "web_search"}}, "tool_choice"),
    ({"tool_choice": {"type": "function", "name": "g"}, "tools": [BASH]}, "tool_choice"),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{}]}}, "tool_choice"),
    ({"chat_template_kwargs": {"tokenize": False}}, "chat_template_kwargs"),
]


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_wrong_or_not_there_is_a_400_that_names_the_field(server: Server, stream: bool) -> None:
    body = {"input": "x", "max_output_tokens": 1, "stream": stream}
    refused = errors_of(server, [{**body, **change} for change, _ in WRONG])
    for (change, param), (status, error) in zip(WRONG, refused, strict=True):
        assert (status, error["param"], error["type"]) == (400, param, "invalid_request_error"), change
        assert error.keys() == {"message", "type", "param", "code"}
        assert error["message"]


def test_a_conversation_that_does_not_fit_is_the_inputs_fault(server: Server) -> None:
    status, error = error_of(server, {"input": "word " * 9000})
    assert (status, error["code"], error["param"]) == (400, "context_over_budget", "input")


def test_what_has_no_effect_is_taken_and_echoed(server: Server) -> None:
    echoed = {
        "metadata": {"team": "blue"},
        "user": "u",
        "safety_identifier": "s",
        "prompt_cache_key": "k",
        "prompt_cache_retention": "24h",
        "max_tool_calls": 3,
        "truncation": "disabled",
        "parallel_tool_calls": False,
        "text": {"format": {"type": "text"}, "verbosity": "low"},
        "store": False,
        "top_p": 0.5,
        "max_output_tokens": 9,
        "instructions": "Be good.",
    }
    silent = {
        "background": False,
        "service_tier": "flex",
        "include": ["reasoning.encrypted_content"],
        "stream_options": {"include_obfuscation": False},
        "favourite_colour": "green",
    }
    response = respond(server, REPEAT, **echoed, **silent)
    assert {name: response[name] for name in echoed} == echoed
    assert response["object"] == "response"
    assert response["service_tier"] == "default"
    assert response["reasoning"] == {"effort": "none", "summary": None}


def test_tools_that_are_not_there_are_left_out_and_named(server: Server) -> None:
    tools = [
        {"type": "web_search"},
        BASH,
        {"type": "mcp", "server_label": "x"},
        {"type": "bad\u2028\r\nX: y"},
    ]
    reply = httpx.post(server.url + ROUTE, json=body_of("Run `ls`", tools=tools))
    warning = reply.headers["warning"]
    assert "web_search, mcp, bad" in warning
    assert warning.isascii()
    response = reply.json()
    assert [tool["name"] for tool in response["tools"]] == ["bash"]
    assert response["output"][0]["name"] == "bash"


@pytest.mark.parametrize(
    ("choice", "calls"),
    [
        ("none", False),
        ("auto", True),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "bash"}]}, True),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}]}, False),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}, False),
        ({"type": "function", "name": "bash"}, True),
        ("required", True),
    ],
)
def test_only_tools_that_may_be_called_are_called(server: Server, choice: Any, calls: bool) -> None:
    response = respond(server, "Run `ls`", tools=[BASH, READ], tool_choice=choice)
    called = [item["name"] for item in response["output"] if item["type"] == "function_call"]
    assert called == (["bash"] if calls else [])
    assert response["tool_choice"] == choice


def test_a_call_that_must_be_made_is_made(server: Server) -> None:
    for choice in ("required", {"type": "function", "name": "read"}):
        response = respond(
            server,
            "Repeat: no",
            tools=[READ],
            tool_choice=choice,
            parallel_tool_calls=False,
            max_output_tokens=60,
        )
        assert [item.get("name") for item in response["output"]] == ["read"]


def test_instructions_hold_until_others_are_given(server: Server) -> None:
    first = respond(server, "Hello", instructions="Be good.")
    kept = respond(server, "Hello", previous_response_id=first["id"])
    other = respond(server, "Hello", previous_response_id=kept["id"], instructions="Be bad.")
    none = respond(server, "Hello", previous_response_id=other["id"], instructions="")
    assert [r["instructions"] for r in (kept, other, none)] == ["Be good.", "Be bad.", ""]


def test_an_item_may_be_referred_to_by_its_id(server: Server) -> None:
    made = respond(server, "Run `ls`", tools=[BASH])["output"][0]
    for reference in ({"type": "item_reference", "id": made["id"]}, {"id": made["id"]}):
        output = {"type": "function_call_output", "call_id": made["call_id"], "output": "total 3"}
        user = {"role": "user", "content": "Run `ls`"}
        response = respond(server, [user, reference, output], tools=[BASH])
        assert texts(response["output"]) == ["It says: total 3"]
    status, error = error_of(server, {"input": [{"type": "item_reference", "id": "msg_1"}]})
    assert (status, error["param"]) == (404, "input[0]")


PERSON = {"type": "object", "properties": {"name": {"type": "string"}}}


def test_the_form_of_the_answer_is_the_chat_routes_constraint(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, Any, Any]] = []

    def constraint_of(fields: Any, tools: Any, choice: Any, _text: Any) -> None:
        seen.append((fields, tools, choice))

    monkeypatch.setattr("fireside.api.chat_task.constraint_of", constraint_of)
    served: Any = SimpleNamespace(text=None, thinking=None)
    schema = {"name": "person", "schema": PERSON, "strict": True}
    bodies: list[dict[str, Any]] = [
        {"text": {"format": {"type": "json_schema", **schema}}},
        {"text": {"format": {"type": "json_object"}}, "tools": [{**BASH, "strict": True}]},
        {"guided_regex": "a+", "tools": [BASH], "tool_choice": "required", "parallel_tool_calls": False},
    ]
    for body in bodies:
        encoded = msgspec.json.encode({"input": "x", **body})
        asked_of(msgspec.json.decode(encoded, type=ResponsesBody), served, ResponseStore())
    (first, _, _), (second, strict, _), (third, _, choice) = seen
    assert first.response_format == {"type": "json_schema", "json_schema": schema}
    assert second.response_format == {"type": "json_object"}
    assert strict[0]["function"]["strict"] is True
    assert (third.response_format, third.guided_regex) == (None, "a+")
    assert choice == ToolChoice("required", parallel=False)


def test_what_is_wrong_with_the_form_is_said_in_the_names_of_this_route() -> None:
    with pytest.raises(BadRequest) as refused, our_names():
        raise BadRequest(
            "response_format.json_schema.schema: bad", param="response_format.json_schema.schema"
        )
    assert str(refused.value) == "text.format.schema: bad"
    assert refused.value.param == "text.format.schema"
