"""Every error under `/v1/messages` has Anthropic's body, and names the field that was wrong."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any

import httpx
import pytest

from support.chat import LONG
from support.messages import BASH, CALL, IMAGE, ROUTE, SCHEMA, assistant, body_of, post, user
from support.server import Server

PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": ""}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": ""}]}, "messages[0].role"),
        ({"messages": [user(IMAGE)]}, "messages[0].content[0]"),
        ({"messages": [user({"type": "text", "text": "a"}, IMAGE)]}, "messages[0].content[1]"),
        ({"messages": [user(AUDIO)]}, "messages[0].content[0]"),
        ({"messages": [user(PDF)]}, "messages[0].content[0].source"),
        ({"messages": [user(CALL)]}, "messages[0].content[0]"),
        ({"messages": [user("a"), assistant(CALL)]}, "messages"),
        ({"messages": [user({"type": "tool_result"})]}, "messages[0].content[0].tool_use_id"),
        ({"system": [IMAGE]}, "system[0]"),
        ({"system": 3}, "system"),
        ({"temperature": 9}, "temperature"),
        ({"stop_sequences": [""]}, "stop_sequences[0]"),
        ({"stop_sequences": "x"}, "stop_sequences"),
        ({"tools": [{"name": "f"}]}, "tools[0].input_schema"),
        ({"tools": [{"name": "two\nlines", "input_schema": {}}]}, "tools[0].name"),
        ({"tools": [BASH], "tool_choice": {"type": "tool", "name": "fly"}}, "tool_choice.name"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens"),
        ({"thinking": {"type": "sometimes"}}, "thinking.type"),
        ({"output_config": {"format": SCHEMA}, "output_format": SCHEMA}, "output_format"),
        ({"messages": [user("a"), assistant("b")], "output_format": SCHEMA}, "output_format"),
        ({"container": "container_1"}, "container"),
        ({"mcp_servers": [{"type": "url", "name": "x", "url": "http://x"}]}, "mcp_servers"),
        ({"chat_template_kwargs": {"tokenize": False}}, "chat_template_kwargs"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(server: Server, change: dict[str, Any], param: str) -> None:
    body = {key: value for key, value in {**body_of("Hello"), **change}.items() if value is not None}
    reply = post(server, body)
    assert reply.status_code == 400
    assert reply.json()["type"] == "error"
    error = reply.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["details"]["param"] == param
    assert param in error["message"]


@pytest.mark.parametrize(
    ("request_", "status", "kind"),
    [
        ({"method": "GET", "url": ROUTE}, 405, "invalid_request_error"),
        ({"method": "POST", "url": f"{ROUTE}/nothing", "json": {}}, 404, "not_found_error"),
        ({"method": "POST", "url": ROUTE, "content": b"{}"}, 415, "invalid_request_error"),
        ({"method": "POST", "url": ROUTE, "json": []}, 400, "invalid_request_error"),
        (
            {
                "method": "POST",
                "url": ROUTE,
                "content": b"{",
                "headers": {"content-type": "application/json"},
            },
            400,
            "invalid_request_error",
        ),
        (
            {"method": "POST", "url": ROUTE, "json": {}, "headers": {"origin": "http://evil.example"}},
            403,
            "permission_error",
        ),
        (
            {"method": "POST", "url": ROUTE, "json": body_of("a", priority="interactive")},
            403,
            "permission_error",
        ),
        (
            {"method": "POST", "url": ROUTE, "json": body_of(LONG, deadline_s=0.001, max_tokens=4000)},
            504,
            "api_error",
        ),
    ],
)
def test_every_error_has_the_envelope(
    server: Server, request_: dict[str, Any], status: int, kind: str
) -> None:
    reply = httpx.request(**{**request_, "url": server.url + request_["url"]})
    assert reply.status_code == status
    assert reply.json()["type"] == "error"
    assert reply.json()["error"]["type"] == kind
    assert reply.json()["error"]["message"]
    if "origin" not in request_.get("headers", {}):
        assert reply.json()["request_id"] == reply.headers["request-id"]
    elsewhere = httpx.get(f"{server.url}/v1/messages-of-another-kind")
    assert "type" not in elsewhere.json()


def test_a_body_that_is_too_large_has_the_envelope(server: Server) -> None:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    with closing(connection):
        connection.putrequest("POST", ROUTE)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(1 << 40))
        connection.endheaders()
        reply = connection.getresponse()
        assert reply.status == 413
        assert json.load(reply)["error"]["type"] == "request_too_large"


def test_a_prompt_that_is_too_long_is_called_that(server: Server) -> None:
    for text in ("word " * 9000, "word " * 200_000):
        reply = post(server, body_of(text))
        assert reply.status_code == 400
        assert "prompt is too long" in reply.json()["error"]["message"]
    assert server.post(f"{ROUTE}/count_tokens", body_of("word " * 9000))["input_tokens"] > 9000
