"""Bodies of `/v1/messages`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from support.server import Server

ROUTE = "/v1/messages"
BASH = {
    "name": "bash",
    "description": "bash.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}
IMAGE = {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1:9/a.png"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
SCHEMA = {"type": "json_schema", "schema": {"type": "object"}}


def user(*content: Any) -> dict[str, Any]:
    return message_of("user", content)


def assistant(*content: Any) -> dict[str, Any]:
    return message_of("assistant", content)


def message_of(role: str, content: Sequence[Any]) -> dict[str, Any]:
    """A message of a text, or of blocks."""
    text = len(content) == 1 and isinstance(content[0], str)
    return {"role": role, "content": content[0] if text else list(content)}


def body_of(*messages: Any, **fields: Any) -> dict[str, Any]:
    given = [user(message) if isinstance(message, str) else message for message in messages]
    return {"model": "any", "max_tokens": 200, "temperature": 0, "messages": given, **fields}


def post(server: Server, body: Any, path: str = ROUTE, **options: Any) -> httpx.Response:
    return httpx.post(server.url + path, json=body, timeout=60, **options)
