"""Packages of others in JavaScript against a running Fireside, each in a program of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.programs import node, outcomes
from support.server import POCKET, Server

PROGRAMS = Path(__file__).parent / "node"
PACKAGES = ("ai", "anthropic", "openai")
COMMAND = {"command": "ls -la /tmp"}
BOTH = ["tool_calls", [["bash", {"command": "ls -la"}], ["read", {"path": "notes.md"}]]]
REPORT = "It says: I ran ls -la /tmp"
TEXT = "one fine day"
LATE = "The answer did not end within 1 s (deadline_s)."


@pytest.fixture(scope="module")
def results(server: Server, embedder: Server) -> dict[str, dict[str, Any]]:
    """What the programs of all packages report."""
    return outcomes(
        {package: [node(), PROGRAMS / f"{package}_client.mjs"] for package in PACKAGES},
        FIRESIDE_URL=server.url,
        EMBEDDER_URL=embedder.url,
    )


def test_openai(results: dict[str, Any]) -> None:
    assert results["openai"] == {
        "chat": ["assistant", TEXT, "stop", True],
        "stream": [TEXT, 0, True],
        "streamHelper": [TEXT, True, TEXT],
        "tools": BOTH,
        "toolsInAStream": BOTH,
        "toolsGoRound": REPORT,
        "parsed": 36,
        "parsedCall": COMMAND,
        "completion": ["text_completion", 4],
        "response": [TEXT, TEXT, TEXT],
        "responseStream": ["response.created", True, "response.completed", TEXT],
        "responseTools": ["bash", COMMAND, "It says: total 3"],
        "responseParsed": 36,
        "embeddings": [2 * 64, True],
        "models": [[POCKET.name], POCKET.name],
        "errors": [[True, "temperature", "invalid_request_error"], [True, 404], [True, "n"]],
        "errorInAStream": [True, LATE],
    }


def test_anthropic(results: dict[str, Any]) -> None:
    assert results["anthropic"] == {
        "message": ["assistant", TEXT, "end_turn", True],
        "stream": [TEXT, True, TEXT, "end_turn"],
        "events": [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ],
        "thoughts": ["thinking", "text"],
        "toolsGoRound": ["tool_use", "bash", COMMAND, "It says: total 3"],
        "toolsInAStream": [COMMAND, COMMAND],
        "forcedTool": [["bash", COMMAND]],
        "parsed": 36,
        "counted": True,
        "models": [POCKET.name],
        "errors": [[True, "invalid_request_error"], [True, 404]],
        "errorInAStream": [True, LATE],
    }


@pytest.mark.parametrize("protocol", ["chat", "messages"])
def test_ai(results: dict[str, Any], protocol: str) -> None:
    tool_parts = ["tool-input-delta", "tool-call", "tool-result", "text-delta"]
    *error, message = results["ai"][protocol].pop("errors")
    assert error == [True, 400]
    assert "Shorten it or start a new chat." in message
    assert results["ai"][protocol] == {
        "text": [TEXT, "stop", True],
        "stream": [TEXT, True, "stop", True],
        "tools": [["tool-calls", "stop"], COMMAND, REPORT],
        "toolsInAStream": [tool_parts, REPORT],
        "object": 36,
        "objectInAStream": [36, 36],
    }


def test_ai_gets_vectors(results: dict[str, Any]) -> None:
    assert results["ai"]["embeddings"] == [64, 64]
