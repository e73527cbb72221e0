"""`/v1/messages` as it goes over the wire: the grammar of its events, and what they say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fireside.api.messages_events import PING
from fireside.http.sse import keep_alive
from support.chat import LONG
from support.messages import BASH, ROUTE, assistant, body_of, post, user
from support.server import Server

DELTAS = {
    "text": {"text_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "tool_use": {"input_json_delta"},
}
THINK = {"type": "adaptive"}


def ask(server: Server, *messages: Any, **fields: Any) -> dict[str, Any]:
    reply = post(server, body_of(*messages, **fields))
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def events_of(server: Server, *messages: Any, **fields: Any) -> list[dict[str, Any]]:
    """The data of a stream's events; each one's name is its type."""
    reply = post(server, body_of(*messages, stream=True, **fields))
    assert reply.headers["content-type"].startswith("text/event-stream"), reply.text
    assert reply.text.endswith("\n\n")
    events: list[dict[str, Any]] = []
    for text in reply.text.removesuffix("\n\n").split("\n\n"):
        name, data = text.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    return events


def checked(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a stream makes, read by a machine that takes Anthropic's grammar and no other."""
    start, *between, delta, stop = events
    assert start["type"] == "message_start"
    message: dict[str, Any] = start["message"]
    assert (message["type"], message["role"], message["content"]) == ("message", "assistant", [])
    assert (message["stop_reason"], message["stop_sequence"]) == (None, None)
    assert message["usage"]["input_tokens"] > 0
    opened: dict[str, Any] | None = None
    texts: list[str] = []
    for event in (event for event in between if event["type"] != "ping"):
        match event["type"]:
            case "content_block_start":
                assert opened is None
                assert event["index"] == len(message["content"])
                opened = dict(event["content_block"])
                assert [value for key, value in opened.items() if key not in ("type", "id", "name")] in (
                    [""],
                    ["", ""],
                    [{}],
                )
                texts = []
            case "content_block_delta":
                assert opened is not None
                assert event["index"] == len(message["content"])
                assert event["delta"]["type"] in DELTAS[opened["type"]]
                if event["delta"]["type"] == "signature_delta":
                    assert event["delta"]["signature"] == ""
                else:
                    texts.append(next(v for k, v in event["delta"].items() if k != "type"))
                    assert texts[-1]
            case "content_block_stop":
                assert opened is not None
                assert event["index"] == len(message["content"])
                message["content"].append(finished(opened, "".join(texts)))
                opened = None
            case other:
                raise AssertionError(f"unexpected {other}")
    assert opened is None
    assert (delta["type"], stop) == ("message_delta", {"type": "message_stop"})
    return {**message, **delta["delta"], "usage": delta["usage"]}


def finished(block: dict[str, Any], text: str) -> dict[str, Any]:
    if block["type"] == "tool_use":
        return {**block, "input": json.loads(text) if text else {}}
    return {**block, block["type"]: text}


def without_ids(message: dict[str, Any]) -> dict[str, Any]:
    """What two answers to one question have in common, but for what the cache did."""
    content = [{k: v for k, v in block.items() if k != "id"} for block in message["content"]]
    usage = message["usage"]
    tokens = usage["input_tokens"] + usage["cache_read_input_tokens"]
    return {
        "content": content,
        "stop": (message["stop_reason"], message["stop_sequence"]),
        "usage": (tokens, usage["cache_creation_input_tokens"], usage["output_tokens"]),
    }


CASES: dict[str, tuple[list[Any], dict[str, Any], list[str], tuple[str, str | None]]] = {
    "text": (["Hello"], {}, ["text"], ("end_turn", None)),
    "thinking": (["Repeat: one fine day"], {"thinking": THINK}, ["thinking", "text"], ("end_turn", None)),
    "call": (["Run `ls -la`"], {"tools": [BASH]}, ["tool_use"], ("tool_use", None)),
    "thought call": (
        ["Run `ls -la`"], {"tools": [BASH], "thinking": THINK}, ["thinking", "tool_use"], ("tool_use", None)
    ),
    "text and call": (
        ["Say `one moment` and run `date`"], {"tools": [BASH]}, ["text", "tool_use"], ("tool_use", None)
    ),
    "two calls": (
        ["Run `ls -la` and run `date`"], {"tools": [BASH]}, ["tool_use", "tool_use"], ("tool_use", None)
    ),
    "stop": (
        ["Count to 300."], {"stop_sequences": ["zzz", ", 12", ", 9"]}, ["text"], ("stop_sequence", ", 9")
    ),
    "cut": (["Count to 300."], {"max_tokens": 9}, ["text"], ("max_tokens", None)),
    "cut thought": (["Hello"], {"max_tokens": 4, "thinking": THINK}, ["thinking"], ("max_tokens", None)),
    "nothing": ([user("Repeat: one"), assistant("one")], {}, [], ("end_turn", None)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_stream_keeps_the_grammar_and_says_what_the_whole_answer_says(server: Server, case: str) -> None:
    messages, fields, kinds, stop = CASES[case]
    streamed = checked(events_of(server, *messages, **fields))
    whole = ask(server, *messages, **fields)
    assert [block["type"] for block in streamed["content"]] == kinds
    assert (streamed["stop_reason"], streamed["stop_sequence"]) == stop
    assert without_ids(streamed) == without_ids(whole)
    assert whole["id"].startswith("msg_")
    assert whole["usage"]["lane"] == streamed["usage"]["lane"] == "batched"
    ids = [block["id"] for block in streamed["content"] if block["type"] == "tool_use"]
    assert len(set(ids)) == len(ids)
    assert all(call_id.startswith("toolu_") for call_id in ids)


def test_a_call_that_is_cut_off_stays_as_text(server: Server) -> None:
    for limit in range(10, 20):
        answer = ask(server, "Run `ls -la /tmp`", tools=[BASH], max_tokens=limit)
        assert answer["stop_reason"] == "max_tokens"
        calls = [block["input"] for block in answer["content"] if block["type"] == "tool_use"]
        if calls:
            assert list(calls[0]) == ["_raw"] or calls == [{}]
            if calls != [{}]:
                assert '{"command": "ls -la /tmp"}'.startswith(calls[0]["_raw"])
                return
    raise AssertionError("no limit cuts the arguments")


def test_cached_tokens_are_not_input(server: Server) -> None:
    question = "Repeat: " + " ".join(f"copper{n}" for n in range(60))
    first, again = (ask(server, question, max_tokens=2)["usage"] for _ in range(2))
    assert first["cache_read_input_tokens"] < again["cache_read_input_tokens"]
    assert again["input_tokens"] + again["cache_read_input_tokens"] == (
        first["input_tokens"] + first["cache_read_input_tokens"]
    )
    assert again["cache_creation_input_tokens"] == 0


def test_thoughts_that_are_not_to_be_shown_are_thought(server: Server) -> None:
    shown = ask(server, "Repeat: one fine day", thinking=THINK)
    hidden = checked(
        events_of(server, "Repeat: one fine day", thinking={"type": "adaptive", "display": "omitted"})
    )
    assert shown["content"][0]["thinking"]
    assert hidden["content"] == [{**shown["content"][0], "thinking": ""}, shown["content"][1]]
    assert hidden["usage"]["output_tokens"] == shown["usage"]["output_tokens"]


@pytest.mark.parametrize(
    ("fields", "thinks"),
    [
        ({}, False),
        ({"thinking": {"type": "disabled"}}, False),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, True),
        ({"thinking": THINK}, True),
        ({"output_config": {"effort": "max"}}, False),
        ({"thinking": THINK, "chat_template_kwargs": {"enable_thinking": False}}, False),
    ],
)
def test_who_decides_whether_it_thinks(server: Server, fields: dict[str, Any], thinks: bool) -> None:
    content = ask(server, "Hello", **fields)["content"]
    assert (content[0]["type"] == "thinking") is thinks
    assert content[-1]["text"] == "Hello! How can I help you?"


def test_a_system_text_comes_as_text_as_blocks_or_as_a_message(server: Server) -> None:
    def tokens(*messages: Any, **fields: Any) -> int:
        count: int = server.post(f"{ROUTE}/count_tokens", body_of(*messages, **fields))["input_tokens"]
        return count

    system = "You are brief."
    plain = tokens("Hello", system=system)
    assert plain > tokens("Hello")
    block = {"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}
    assert tokens("Hello", system=[block]) == plain
    assert tokens({"role": "system", "content": system}, "Hello") == plain


@pytest.mark.parametrize(
    ("messages", "fields"),
    [
        (["Hello"], {}),
        (["Run `ls`"], {"tools": [BASH], "tool_choice": {"type": "none"}}),
        (["Run `ls`"], {"tools": [BASH], "system": "You are brief.", "thinking": THINK}),
        ([user("Repeat: one fine day"), assistant("one")], {}),
    ],
)
def test_counted_tokens_are_those_of_the_usage(
    server: Server, messages: list[Any], fields: dict[str, Any]
) -> None:
    body = body_of(*messages, **fields)
    usage = server.post(ROUTE, body)["usage"]
    del body["max_tokens"]
    count = server.post(f"{ROUTE}/count_tokens", body)
    assert count == {"input_tokens": usage["input_tokens"] + usage["cache_read_input_tokens"]}


def test_tools_of_other_servers_are_left_out_and_named(server: Server) -> None:
    odd = {"type": 'computer_1"\r\nX-Evil: ж', "name": "computer"}
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    reply = post(server, body_of("Run `date`", tools=[search, BASH, odd]))
    assert reply.json()["stop_reason"] == "tool_use"
    (warning,) = reply.headers.get_list("warning")
    assert "web_search_20250305" in warning
    assert warning.isascii()
    assert "x-evil" not in reply.headers
    assert "warning" not in post(server, body_of("Run `date`", tools=[BASH])).headers


def test_what_waits_is_told_where_that_is_asked_for(server: Server) -> None:
    question = " ".join(f"waiting{n}" for n in range(400))
    pings = [
        e for e in events_of(server, question, return_progress=True, max_tokens=1) if e["type"] == "ping"
    ]
    assert pings[0] == {"type": "ping"}
    phases = {ping["fireside"]["phase"] for ping in pings[1:]}
    assert "prefill" in phases
    assert phases <= {"queued", "prefill"}


async def test_a_silence_is_filled_with_pings() -> None:
    async def slow() -> AsyncIterator[bytes]:
        await asyncio.sleep(0.05)
        yield b"text"

    parts = [part async for part in keep_alive(slow(), 0.01, PING)]
    assert parts[-1] == b"text"
    assert set(parts[:-1]) == {b'event: ping\ndata: {"type":"ping"}\n\n'}


def test_an_error_in_a_running_stream_is_an_event(server: Server) -> None:
    events = events_of(server, LONG, deadline_s=0.3, max_tokens=4000)
    assert events[0]["type"] == "message_start"
    assert events[-1]["error"]["type"] == "api_error"
    assert events[-1]["error"]["details"] == {"error_code": "deadline_exceeded"}
    assert "message_stop" not in [event["type"] for event in events]
