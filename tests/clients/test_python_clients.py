"""Libraries of others in Python against a running Fireside, each in a program of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.programs import outcomes, python
from support.server import Server

PROGRAMS = Path(__file__).parent / "programs"
LIBRARIES = ("instructor", "langchain", "llm", "pydantic_ai")
COMMAND = {"command": "ls -la /tmp"}
REPORT = "It says: I ran ls -la /tmp"
TEXT = "one fine day"


@pytest.fixture(scope="module")
def results(
    server: Server, embedder: Server, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """What the programs of all libraries report."""
    return outcomes(
        {library: [python(), PROGRAMS / f"{library}_client.py"] for library in LIBRARIES},
        FIRESIDE_URL=server.url,
        EMBEDDER_URL=embedder.url,
        OPENAI_API_KEY="unused",
        LLM_USER_PATH=str(tmp_path_factory.mktemp("llm")),
    )


def test_instructor_makes_models_of_answers(results: dict[str, Any]) -> None:
    assert results["instructor"] == {
        "tools": COMMAND,
        "parallel_tools": [{"bash": {"command": "ls -la"}}, {"read": {"path": "notes.md"}}],
        "partial_objects": {"grows": True, "last": "ls -la /tmp"},
        "schema": 36,
        "schema_in_a_stream": 36,
        "asked_again": {"times": 2, "type": "Elder"},
        "through_responses": COMMAND,
        "through_messages": COMMAND,
    }


@pytest.mark.parametrize("protocol", ["chat", "responses", "messages"])
def test_agents_of_pydantic_ai_use_tools_and_give_typed_outputs(
    results: dict[str, Any], protocol: str
) -> None:
    # With Anthropic's protocol the client says nothing of thinking, and so there is none.
    thought = [] if protocol == "messages" else ["thinking"]
    parts = ["user-prompt", *thought, "tool-call", "tool-return", *thought, "text"]
    assert results["pydantic_ai"][protocol] == {
        "with_a_tool": {"output": REPORT, "parts": parts, "requests": 2},
        "streamed": {"output": REPORT, "pieces": True, "parts": parts},
        "native": 36,
        "as_a_call": COMMAND,
    }


@pytest.mark.parametrize("protocol", ["chat", "responses"])
def test_langchain_streams_calls_and_parses(results: dict[str, Any], protocol: str) -> None:
    assert results["langchain"][protocol] == {
        "invoked": {"text": TEXT, "counted": True},
        "streamed": {"text": TEXT, "pieces": True, "counted": True},
        "batched": ["one", "two"],
        "called": {"calls": [["bash", COMMAND]], "report": REPORT},
        "called_in_a_stream": [["bash", COMMAND]],
        "forced": ["bash"],
        "structured": [36, 36],
        "structured_in_a_stream": 36,
    }


def test_langchain_gets_vectors(results: dict[str, Any]) -> None:
    assert results["langchain"]["embedded"] == [64, 64, 1.0]


def test_llm_knows_fireside_from_its_list_of_models(results: dict[str, Any]) -> None:
    assert results["llm"] == {
        "prompted": TEXT,
        "streamed": {"text": TEXT, "pieces": True},
        "gone_on": ["blue fern", "blue fern", "blue fern"],
        "called": "It says: I ran ls",
        "structured": {"age": 36},
        "logged": True,
        "through_responses": TEXT,
        "through_completions": True,
    }
