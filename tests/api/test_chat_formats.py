"""The formats of the chat and text routes to the letter, read as raw bytes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from support.completions import ROUTE, ask, body_of, rows, wait_until
from support.server import Server

COMPLETIONS = "/v1/completions"
LONG = "Count to 5000."
JSON = {"Content-Type": "application/json"}
BASH: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "bash.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}


def post(server: Server, route: str, body: dict[str, Any] | bytes, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(server.url + route, content=content, headers={**JSON, **headers}, timeout=60)


def stream(server: Server, route: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of an answer, whose bytes are held to the format: one line of data an event, [DONE] last."""
    reply = post(server, route, {**body, "stream": True})
    assert reply.headers["content-type"] == "text/event-stream"
    *events, done, rest = reply.content.replace(b": keep-alive\n\n", b"").split(b"\n\n")
    assert (done, rest) == (b"data: [DONE]", b"")
    assert all(event.startswith(b"data: {") and b"\n" not in event for event in events)
    return [json.loads(event.removeprefix(b"data: ").decode()) for event in events]


def deltas(chunks: list[dict[str, Any]], index: int = 0) -> list[dict[str, Any]]:
    return [c["delta"] for chunk in chunks for c in chunk["choices"] if c["index"] == index]


def nulls(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(nulls, value.values()))
    return any(map(nulls, value)) if isinstance(value, list) else value is None


@pytest.mark.parametrize("asked", [False, True])
def test_every_answer_of_a_stream_begins_with_the_role_and_ends_with_its_reason(
    server: Server, asked: bool
) -> None:
    options = {"stream_options": {"include_usage": asked, "include_obfuscation": True}}
    chunks = stream(server, ROUTE, body_of("Count to 9.", n=2, max_tokens=30, **options))
    assert len({(c["id"], c["created"], c["model"], c["system_fingerprint"]) for c in chunks}) == 1
    assert {c["object"] for c in chunks} == {"chat.completion.chunk"}
    for index in (0, 1):
        first, *others = deltas(chunks, index)
        assert first == {"role": "assistant", "content": ""}
        assert not any("role" in delta or nulls(delta) for delta in others)
        reasons = [c["finish_reason"] for chunk in chunks for c in chunk["choices"] if c["index"] == index]
        assert (reasons[-1], set(reasons[:-1])) == ("stop", {None})
    assert deltas(chunks, 0) == deltas(chunks, 1)
    *before, last = chunks
    assert last["usage"]["prompt_tokens"] < last["usage"]["completion_tokens"]
    if asked:
        assert last["choices"] == []
        assert [chunk["usage"] for chunk in before] == [None] * len(before)
    else:
        assert last["choices"]
        assert not any("usage" in chunk for chunk in before)


def test_each_of_several_answers_is_the_one_of_its_seed(server: Server) -> None:
    drawn = {"temperature": 1.5, "max_tokens": 12}
    alone = [ask(server, "Write 30 random words.", seed=seed, **drawn) for seed in (40, 41, 42)]
    body = body_of("Write 30 random words.", n=3, seed=40, **drawn)
    completion = server.post(ROUTE, body)
    assert [c["index"] for c in completion["choices"]] == [0, 1, 2]
    assert [c["message"] for c in completion["choices"]] == [answer.message for answer in alone]
    assert len({answer.text for answer in alone}) == 3
    usage = completion["usage"]
    assert usage["prompt_tokens"] == alone[0].prompt_tokens
    assert usage["completion_tokens"] == sum(answer.usage["completion_tokens"] for answer in alone)
    chunks = stream(server, ROUTE, body)
    for index, answer in enumerate(alone):
        assert "".join(d.get("content", "") for d in deltas(chunks, index)) == answer.text


def test_a_call_s_id_type_and_name_come_once_and_its_arguments_in_pieces(server: Server) -> None:
    chunks = stream(server, ROUTE, body_of("Run `ls -la /tmp`", tools=[BASH]))
    calls = [call for delta in deltas(chunks) for call in delta.get("tool_calls", [])]
    first, *others = calls
    assert first == {
        "index": 0,
        "id": first["id"],
        "type": "function",
        "function": {"name": "bash", "arguments": ""},
    }
    assert len(others) > 1
    assert all(call.keys() == {"index", "function"} for call in others)
    assert all(call["function"].keys() == {"arguments"} for call in others)
    arguments = "".join(call["function"]["arguments"] for call in others)
    assert json.loads(arguments) == {"command": "ls -la /tmp"}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_thoughts_come_under_both_names(server: Server) -> None:
    body = body_of("Count to 5.", reasoning_effort="medium", max_tokens=100)
    message = server.post(ROUTE, body)["choices"][0]["message"]
    assert message["reasoning"] == message["reasoning_content"] != ""
    assert message["refusal"] is None
    thoughts = [d for d in deltas(stream(server, ROUTE, body)) if "reasoning" in d]
    assert all(d["reasoning"] == d["reasoning_content"] for d in thoughts)
    assert "".join(d["reasoning"] for d in thoughts) == message["reasoning"]


def test_thinking_is_turned_off_in_each_dialect(server: Server) -> None:
    for fields in (
        {"reasoning_effort": "none"},
        {"reasoning_effort": None, "thinking": {"type": "disabled"}},
        {"reasoning_effort": None, "chat_template_kwargs": {"enable_thinking": False}},
    ):
        assert "reasoning" not in ask(server, "Count to 5.", max_tokens=30, **fields).message
    body = {"reasoning_effort": None, "max_tokens": 60}
    short = ask(server, "Count to 5.", thinking={"type": "enabled", "budget_tokens": 4}, **body)
    free = ask(server, "Count to 5.", thinking={"type": "adaptive"}, **body)
    assert short.message == ask(server, "Count to 5.", thinking_budget=4, **body).message
    assert 0 < len(short.message["reasoning"]) < len(free.message["reasoning"])


NULLS = (
    "model stream stream_options max_tokens max_completion_tokens stop temperature top_p seed n user "
    "metadata logit_bias presence_penalty frequency_penalty top_logprobs logprobs return_progress priority "
    "deadline_s adapter adapters safety_identifier prompt_cache_key prompt_cache_retention response_format"
).split()
CHAT_NULLS = (
    "tools tool_choice parallel_tool_calls functions function_call reasoning_effort thinking "
    "thinking_budget chat_template_kwargs continue_final_message modalities audio prediction store "
    "service_tier verbosity web_search_options"
).split()


@pytest.mark.parametrize(
    ("route", "body"),
    [
        (ROUTE, {"messages": [{"role": "user", "content": "Hi"}], **dict.fromkeys(NULLS + CHAT_NULLS)}),
        (
            COMPLETIONS,
            {"prompt": "Hi", **dict.fromkeys(NULLS), "suffix": None, "echo": None, "best_of": None},
        ),
    ],
)
def test_null_says_nothing(server: Server, route: str, body: dict[str, Any]) -> None:
    reply = post(server, route, {**body, "stop": None, "max_completion_tokens": 3})
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize(
    "fields",
    [
        {"stream_options": {}, "tools": [], "tool_choice": "auto", "stop": [], "logit_bias": {}},
        {"tool_choice": "none", "parallel_tool_calls": True, "functions": [], "function_call": "auto"},
        {"user": "u", "metadata": {"a": "b"}, "store": True, "service_tier": "flex", "verbosity": "low"},
        {"safety_identifier": "s", "prompt_cache_key": "k", "prompt_cache_retention": "24h"},
        {"prediction": {"type": "content", "content": "x"}, "modalities": ["text"], "unknown": [1]},
        {"model": "any/other", "tools": [BASH], "parallel_tool_calls": False},
        {"tools": [{**BASH, "function": {**BASH["function"], "strict": False}}], "tool_choice": "none"},
    ],
)
def test_what_is_harmless_is_accepted_and_the_served_model_named(
    server: Server, fields: dict[str, Any]
) -> None:
    reply = post(server, ROUTE, body_of("Hi", max_tokens=1, **fields))
    assert reply.status_code == 200, reply.text
    assert reply.json()["model"] == "pocket"


ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"function": {"name": "x"}}]}}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"adapter": "a"}, "adapter"),
    ({"adapters": ["a"]}, "adapters"),
    ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"web_search_options": {}}, "web_search_options"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"function_call": {"name": "f"}}, "function_call"),
    ({"reasoning_effort": "huge"}, "reasoning_effort"),
    ({"thinking": {"type": "sometimes"}}, "thinking.type"),
    ({"verbosity": "loud"}, "verbosity"),
    ({"n": 0}, "n"),
    ({"n": 129}, "n"),
    ({"user": 1}, "user"),
    ({"model": 1}, "model"),
    ({"metadata": "x"}, "metadata"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": "any", "tools": [BASH]}, "tool_choice"),
    ({"tool_choice": {"type": "function", "function": {"name": "x"}}, "tools": [BASH]}, "tool_choice"),
    ({"tool_choice": {"type": "function"}, "tools": [BASH]}, "tool_choice"),
    ({"tool_choice": {}, "tools": [BASH]}, "tool_choice"),
    ({"tool_choice": ALLOWED, "tools": [BASH]}, "tool_choice"),
    ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
    ({"messages": [{"role": "function", "name": "f", "content": "x"}]}, "messages[0].role"),
    (
        {"messages": [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}]},
        "messages[0].function_call",
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]},
        "messages[0].content[0]",
    ),
]


@pytest.mark.parametrize(("fields", "param"), REFUSED, ids=[str(param) for _, param in REFUSED])
def test_what_cannot_be_honoured_is_refused_by_name(
    server: Server, fields: dict[str, Any], param: str
) -> None:
    reply = post(server, ROUTE, {**body_of("Hi", max_tokens=1), **fields, "stream": True})
    error = reply.json()["error"]
    assert (reply.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["param"] == param
    assert param in error["message"]


def test_a_wrong_word_is_told_the_right_ones(server: Server) -> None:
    message = post(server, ROUTE, body_of("Hi", reasoning_effort="huge")).json()["error"]["message"]
    assert all(word in message for word in ("none", "minimal", "low", "medium", "high", "xhigh"))


USER = '{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1'


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf{}",
        b'"text"',
        f'{USER},"temperature":NaN}}'.encode(),
        f'{USER},"temperature":1e999}}'.encode(),
        f'{USER},"temperature":Infinity}}'.encode(),
        f'{USER},"n":1.0}}'.encode(),
        f'{USER},"max_completion_tokens":{10**30}}}'.encode(),
        f'{USER},"top_k":{2**63}}}'.encode(),
        f'{USER},"thinking_budget":{2**64}}}'.encode(),
        f'{USER},"user":"\\ud800"}}'.encode(),
        f'{USER},"user":"'.encode() + b'\xc3"}',
        f"{USER}}}]".encode(),
        f"{USER},}}".encode(),
        *(f'{USER},"{name}":{"[" * 129}{"]" * 129}}}'.encode() for name in ("unknown", "response_format")),
        f'{USER},"chat_template_kwargs":{{"a":{"[" * 600}{"]" * 600}}}}}'.encode(),
        f'{USER},"unknown":{"[" * 100_000}'.encode(),
    ],
)
@pytest.mark.parametrize("route", [ROUTE, COMPLETIONS])
def test_what_is_not_json_or_not_a_number_of_ours_is_a_400(server: Server, route: str, body: bytes) -> None:
    if route == COMPLETIONS:
        body = body.replace(b'"messages":[{"role":"user","content":"Hi"}]', b'"prompt":"Hi"')
        body = body.replace(b"thinking_budget", b"top_k").replace(b"chat_template_kwargs", b"unknown")
    reply = post(server, route, body)
    assert reply.status_code == 400, reply.text
    assert reply.json()["error"]["type"] == "invalid_request_error"


def test_brackets_in_texts_are_no_nesting_and_the_last_of_two_names_counts(server: Server) -> None:
    text = "[{" * 500 + '\\"]'
    body = f'{{"messages":[{{"role":"user","content":"{text}"}}],"max_tokens":1,"max_tokens":2}}'
    reply = post(server, ROUTE, body.encode())
    assert reply.status_code == 200, reply.text
    assert reply.json()["usage"]["completion_tokens"] == 2


def test_a_deep_value_reaches_the_template(server: Server) -> None:
    body = f'{USER},"chat_template_kwargs":{{"a":{"[" * 120}{"]" * 120}}}}}'
    assert post(server, ROUTE, body.encode()).status_code == 200


def test_statuses_of_http_are_answered_in_json(server: Server) -> None:
    typed = {"Content-Type": "application/json; charset=utf-8"}
    assert post(server, ROUTE, body_of("Hi", max_tokens=1), **typed).status_code == 200
    assert (
        httpx.post(server.url + ROUTE, content=b"{}", headers={"Content-Type": "text/plain"}).status_code
        == 415
    )
    for method, path, status, allow in (
        ("GET", ROUTE, 405, {"POST", "OPTIONS"}),
        ("DELETE", "/tokenize", 405, {"POST", "OPTIONS"}),
        ("POST", "/v1/models", 405, {"GET", "HEAD", "OPTIONS"}),
        ("GET", "/v1/nothing", 404, set[str]()),
        ("GET", "/v1/models/", 404, set[str]()),
    ):
        reply = httpx.request(method, server.url + path, headers=JSON)
        assert (reply.status_code, reply.json()["error"]["type"]) == (status, "invalid_request_error")
        assert set(filter(None, reply.headers.get("allow", "").split(", "))) == allow
    head = httpx.head(server.url + "/v1/models")
    assert (head.status_code, head.content) == (200, b"")
    assert httpx.head(server.url + ROUTE).status_code == 405
    assert httpx.options(server.url + ROUTE).headers["allow"].split(", ").count("POST") == 1


def test_a_body_over_the_limit_is_refused_before_it_is_read(server: Server) -> None:
    url = urlsplit(server.url)
    head = f"POST {ROUTE} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((url.hostname or "", url.port or 0), timeout=10) as line:
        line.sendall(f"{head}Content-Length: {1 << 40}\r\nConnection: close\r\n\r\n{{".encode())
        line.settimeout(5)
        answer = b""
        while b"}}" not in answer:
            answer += line.recv(4096)
    assert answer.startswith(b"HTTP/1.1 413")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(("route", "field"), [(ROUTE, "messages"), (COMPLETIONS, "prompt")])
def test_an_error_in_a_running_stream_is_an_event_and_a_proper_end(
    server: Server, route: str, field: str
) -> None:
    body = {**body_of(LONG), "prompt": LONG, "deadline_s": 0.5, "logit_bias": {"2": -100}, "n": 2}
    assert field in body
    *chunks, error = stream(server, route, body)
    assert len(chunks) > 2
    assert error["error"]["code"] == "deadline_exceeded"
    wait_until(lambda: rows(server) == (0, 0), 2)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("route", [ROUTE, COMPLETIONS])
def test_a_client_that_leaves_ends_all_of_its_answers(server: Server, route: str, stream: bool) -> None:
    body = {**body_of(LONG), "prompt": LONG, "logit_bias": {"2": -100}, "n": 2, "stream": stream}
    with (
        pytest.raises(httpx.ReadTimeout) if not stream else pytest.raises(StopIteration),
        httpx.stream("POST", server.url + route, json=body, timeout=30 if stream else 0.4) as reply,
    ):
        lines = iter(reply.iter_lines())
        for _ in range(8):
            next(lines)
        assert rows(server)[0] == 2
        raise StopIteration
    wait_until(lambda: rows(server) == (0, 0), 2)


@pytest.fixture
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """An address that nobody may ask, and what came there."""
    hits: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as accepting:
        accepting.settimeout(0.2)
        yield f"127.0.0.1:{accepting.getsockname()[1]}", hits
        try:
            line, _ = accepting.accept()
        except TimeoutError:
            return
        with line:
            hits.append(b"connected")
            raise AssertionError("an URL in a message was asked")


def test_no_url_in_a_message_is_ever_asked(
    server: Server, listener: tuple[str, list[bytes]], tmp_path: Path
) -> None:
    address, _ = listener
    port = address.rpartition(":")[2]
    sentinel = tmp_path / "sentinel.png"
    sentinel.write_bytes(b"secret")
    hosts = ("localhost", "[::1]", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]")
    urls = [f"http://{address}/hit", *(f"http://{host}:{port}/hit" for host in hosts)]
    urls += ["http://169.254.169.254/latest/", sentinel.as_uri(), "data:image/png;base64," + "A" * 2_000_000]
    for url in urls:
        part = {"type": "image_url", "image_url": {"url": url}}
        messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}]
        reply = post(server, ROUTE, {"messages": messages})
        assert reply.status_code == 400
        error = reply.json()["error"]
        assert error["param"] == "messages[0].content[1]"
        assert "image_url" in error["message"]
        assert "secret" not in reply.text
