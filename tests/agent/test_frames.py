"""The published JSON Schema is true of the frames on a real socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agent.harness import Client, served_agent
from agent.scripted import Upstream, reasoning_chunk
from agent.tooling import (
    Bench,
    answered,
    asked,
    calling,
    decide,
    with_tools,
)

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "protocol.schema.json").read_text("utf-8")
)


def validator(side: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{side}", "$defs": SCHEMA["$defs"]})


async def test_frames_of_a_turn_with_everything_are_as_published(
    upstream: Upstream, database_path: Path
) -> None:
    upstream.scripts = [
        [reasoning_chunk("Hm."), *calling(("look", {"text": "a"}), ("note", {"text": "b"}), text="Now.")],
        ["Done."],
    ]
    bench = Bench()
    async with (
        served_agent(database_path, upstream.base_url, extra_tools=bench.tools) as served,
        served.client() as client,
    ):
        await with_tools(client)
        await client.ask("Go.")
        await decide(client, await asked(client), always="session")
        await answered(client)
        await client.open(client.session_id)
        await client.until("history")
        await client.send("nonsense")
        await client.until("error")
    checker = validator("ServerFrame")
    for frame in client.frames:
        checker.validate(frame)
    kinds = {frame["type"] for frame in client.frames}
    assert kinds >= {
        "hello", "history", "accepted", "turn_start", "reasoning_delta", "text_delta", "blocks", "tool_start",
        "tool_update", "tool_end", "tool_approval_request", "approval_settled", "step_start", "context",
        "turn_end", "error", "sessions",
    }  # fmt: skip


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "prompt", "session_id": "s", "text": "Hi", "client_id": "c"},
        {"type": "approval", "session_id": "s", "call_id": "c", "decision": "allow", "always": None},
        {"type": "new_session", "temporary": True, "settings": {"sampling": {"temperature": 0.5}}},
    ],
)
def test_what_clients_send_is_as_published(frame: dict[str, Any]) -> None:
    validator("ClientFrame").validate(frame)


@pytest.mark.parametrize(
    "frame", [{"type": "prompt", "text": 1}, {"type": "x"}, {"type": "approval", "decision": "maybe"}, []]
)
def test_what_they_must_not_send_is_not(frame: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator("ClientFrame").validate(frame)


async def test_a_prompt_as_published_is_taken(client: Client) -> None:
    assert (await client.ask("Hello?"))["type"] == "accepted"
