"""Turns with tools: what the model asks for is checked, decided, run, told, stored, and sent back."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent.harness import Client, served_agent
from agent.scripted import Upstream, reasoning_chunk
from agent.tooling import (
    Bench,
    answered,
    at_bench,
    calling,
    tools_of,
    with_tools,
)
from fireside_agent.calls import SAME_CALLS, SAME_CALLS_AT_ALL

ASKING_TEXT = "It changes files."


@pytest.fixture
async def client(upstream: Upstream, database_path: Path, bench: Bench) -> AsyncIterator[Client]:
    async with at_bench(upstream, database_path, bench) as connected:
        yield connected


async def test_a_call_runs_and_its_result_is_sent_back(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [calling(("look", {"text": "fern"}), text="I look."), ["It is green."]]
    await client.ask("What colour?")
    end = await answered(client)
    assert end["status"] == "done"
    first, second = [m for m in client.messages.values() if m["role"] == "assistant"]
    assert (first["text"], second["text"]) == ("I look.", "It is green.")
    assert second["parent_id"] == first["id"]
    [call] = first["tools"]
    assert (call["status"], call["result"], call["settled"]) == ("done", "looking at fern", None)
    assert call["ms"] >= 40
    assert [tool["function"]["name"] for tool in upstream.requests[0]["tools"]] == ["note", "look", "slow"]
    sent = upstream.requests[1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"text": "fern"}'}
    assert sent[3]["content"] == "looking at fern"
    assert sent[3]["tool_call_id"] == sent[2]["tool_calls"][0]["id"]


async def test_what_only_looks_runs_together_in_any_number(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(*(("look", {"text": f"t{i}"}) for i in range(4))), ["Done."]]
    await client.ask("Look around.")
    await answered(client)
    assert bench.look.most == 4
    assert [call["result"] for call in tools_of(client)] == [f"looking at t{i}" for i in range(4)]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("look", '{"text": "half', "JSON"),
        ("look", "[1]", "object"),
        ("look", {"txet": "fern"}, "text"),
        ("look", {"text": 5}, "string"),
        ("lok", {"text": "fern"}, "Did you mean look"),
        ("bash", {"command": "ls"}, "no tool 'bash' in this chat"),
        ("look", {"text": "nothing"}, "there is nothing to see."),
    ],
)
async def test_a_failure_is_data_for_the_model(
    client: Client, upstream: Upstream, name: str, arguments: Any, said: str
) -> None:
    upstream.scripts = [calling((name, arguments)), ["I see."]]
    await client.ask("Go.")
    assert (await answered(client))["status"] == "done"
    [call] = tools_of(client)
    assert call["status"] == "failed"
    assert said in call["result"]
    assert upstream.requests[1]["messages"][-1]["content"] == call["result"]


async def test_a_change_waits_for_the_person_and_runs_once_allowed(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(("note", {"text": "buy milk"})), ["Noted."]]
    await client.ask("Note it.")
    asked = (await client.until("tool_approval_request"))["call"]
    assert asked["question"] == ASKING_TEXT
    assert asked["preview"] == {"kind": "arguments", "text": "note: buy milk"}
    assert bench.note.notes == []
    await client.send("approval", session_id=client.session_id, call_id=asked["call_id"], decision="allow")
    settled = (await client.until("approval_settled"))["call"]["settled"]
    assert settled == {"decision": "allow", "who": "person", "why": ""}
    assert (await answered(client))["status"] == "done"
    assert bench.note.notes == ["buy milk"]
    await client.send("approval", session_id=client.session_id, call_id=asked["call_id"], decision="allow")
    assert (await client.until("error"))["code"] == "already_settled"
    assert bench.note.notes == ["buy milk"]


async def test_a_denied_call_is_told_to_the_model_and_the_turn_goes_on(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(("note", {"text": "x"})), ["Then not."]]
    await client.ask("Note it.")
    asked = (await client.until("tool_approval_request"))["call"]
    await client.send("approval", session_id=client.session_id, call_id=asked["call_id"], decision="deny")
    assert (await answered(client))["message"]["text"] == "Then not."
    assert upstream.requests[1]["messages"][-1]["content"].startswith("Denied")
    assert bench.note.notes == []


async def test_edited_arguments_are_what_runs_and_what_the_model_sees(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(("note", {"text": "all"})), ["Ok."]]
    await client.ask("Note it.")
    asked = (await client.until("tool_approval_request"))["call"]
    await client.send(
        "approval",
        session_id=client.session_id,
        call_id=asked["call_id"],
        decision="allow",
        edited_arguments='{"text": "less"}',
    )
    await answered(client)
    assert bench.note.notes == ["less"]
    made = upstream.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert msgspec.json.decode(made) == {"text": "less"}


async def test_a_permission_for_the_chat_holds_in_it_alone(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [
        calling(("note", {"text": "one"})), ["Ok."], calling(("note", {"text": "two"})), ["Ok."],
        calling(("note", {"text": "three"})), ["Ok."],
    ]  # fmt: skip
    await client.ask("First.")
    asked = (await client.until("tool_approval_request"))["call"]
    assert [offer["scope"] for offer in asked["offers"]] == ["session", "tool"]
    await client.send(
        "approval",
        session_id=client.session_id,
        call_id=asked["call_id"],
        decision="allow",
        always="session",
    )
    await answered(client)
    await client.ask("Second.")
    await answered(client)
    assert bench.note.notes == ["one", "two"]
    assert tools_of(client)[-1]["settled"]["who"] == "rule"
    await with_tools(client)
    await client.ask("Third.")
    await client.until("tool_approval_request")


async def test_in_a_read_only_chat_nothing_asks(client: Client, upstream: Upstream, bench: Bench) -> None:
    await with_tools(client, read_only=True)
    upstream.scripts = [calling(("note", {"text": "x"}), ("look", {"text": "y"})), ["Ok."]]
    await client.ask("Go.")
    await answered(client)
    assert [call["status"] for call in tools_of(client)] == ["blocked", "done"]
    assert bench.note.notes == []


async def test_stopping_ends_the_tool_and_closes_every_call(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(("slow", {"text": "a"}), ("note", {"text": "b"}), text="Working."), ["More."]]
    await client.ask("Go.")
    await client.until("tool_update")
    await client.send("abort", session_id=client.session_id)
    end = await answered(client)
    assert end["status"] == "aborted"
    assert bench.slow.cancelled
    assert [call["status"] for call in tools_of(client)] == ["aborted", "aborted"]
    assert tools_of(client)[0]["result"].startswith("working…")
    await client.ask("And now?")
    await answered(client)
    sent = upstream.requests[-1]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "tool", "user"]


async def test_the_same_call_over_and_over_is_stopped(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(("look", {"text": "fern"}))]
    await client.ask("Go.")
    end = await answered(client)
    assert end["status"] == "error"
    assert "same call" in end["message"]["error"]
    assert len([call for call in tools_of(client) if call["status"] == "done"]) == SAME_CALLS
    assert len(upstream.requests) == SAME_CALLS_AT_ALL + 1


async def test_a_turn_has_an_end(upstream: Upstream, database_path: Path, bench: Bench) -> None:
    upstream.scripts = [calling(("look", {"text": f"t{i}"})) for i in range(10)]
    async with (
        served_agent(database_path, upstream.base_url, extra_tools=bench.tools, max_steps=4) as served,
        served.client() as client,
    ):
        await with_tools(client)
        await client.ask("Go.")
        end = await answered(client)
    assert "after 4 steps" in end["message"]["error"]
    assert len(upstream.requests) == 4


async def test_reasoning_is_shown_stored_and_not_sent_back(
    client: Client, upstream: Upstream, database_path: Path
) -> None:
    upstream.scripts = [[reasoning_chunk("Let me "), reasoning_chunk("think."), "Four."], ["Yes."]]
    await client.ask("2+2?")
    message = (await answered(client))["message"]
    assert (message["reasoning"], message["text"]) == ("Let me think.", "Four.")
    assert message["reasoning_ms"] is not None
    await client.ask("Sure?")
    await answered(client)
    assert "think" not in str(upstream.requests[1]["messages"])
    with closing(sqlite3.connect(database_path)) as connection:
        stored = connection.execute("SELECT reasoning FROM messages WHERE text = 'Four.'").fetchone()
    assert stored == ("Let me think.",)


async def test_a_message_typed_while_it_works_is_seen_at_the_next_step(
    client: Client, upstream: Upstream
) -> None:
    upstream.scripts = [calling(("note", {"text": "x"})), ["As you say."], ["Later."]]
    await client.ask("Go.")
    asked = (await client.until("tool_approval_request"))["call"]
    await client.ask("later", "c-later")
    await client.send(
        "prompt", session_id=client.session_id, text="Careful!", client_id="c-steer", steer=True
    )
    await client.until("accepted", lambda frame: frame["message"]["client_id"] == "c-steer")
    await client.send("approval", session_id=client.session_id, call_id=asked["call_id"], decision="allow")
    await answered(client)
    sent = upstream.requests[1]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool", "user"]
    assert sent[-1]["content"] == "Careful!"
    await answered(client)
    assert upstream.requests[2]["messages"][-1]["content"] == "later"


async def test_waiting_prompts_can_be_changed_and_removed(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [calling(("note", {"text": "x"})), ["Ok."], ["Changed."]]
    await client.ask("Go.")
    asked = (await client.until("tool_approval_request"))["call"]
    first = (await client.ask("one"))["message"]["id"]
    second = (await client.ask("two"))["message"]["id"]
    await client.send("edit_queued", session_id=client.session_id, message_id=first, text="")
    await client.until("history", lambda frame: first not in client.messages)
    await client.send("edit_queued", session_id=client.session_id, message_id=second, text="three")
    await client.until("history", lambda frame: client.messages[second]["text"] == "three")
    await client.send("approval", session_id=client.session_id, call_id=asked["call_id"], decision="deny")
    await answered(client)
    await answered(client)
    texts = [m["content"] for m in upstream.requests[2]["messages"] if m["role"] == "user"]
    assert texts == ["Go.", "three"]


async def test_a_question_survives_a_restart_and_the_turn_goes_on(
    upstream: Upstream, database_path: Path, bench: Bench
) -> None:
    upstream.scripts = [calling(("look", {"text": "fern"}), ("note", {"text": "kept"})), ["All done."]]
    async with (
        served_agent(database_path, upstream.base_url, extra_tools=bench.tools) as served,
        served.client() as client,
    ):
        await with_tools(client)
        await client.ask("Go.")
        await client.until("tool_approval_request")
        session_id = client.session_id
    with closing(sqlite3.connect(database_path)) as connection:
        assert connection.execute("SELECT status FROM messages WHERE role = 'assistant'").fetchall() == [
            ("running",)
        ]
    async with (
        served_agent(database_path, upstream.base_url, "epoch-2", extra_tools=bench.tools) as served,
        served.client() as client,
    ):
        await client.open(session_id)
        await client.until("history")
        while not any(call["status"] == "asking" for call in tools_of(client)):
            await client.next()
        [call] = [call for call in tools_of(client) if call["status"] == "asking"]
        await client.send("approval", session_id=session_id, call_id=call["call_id"], decision="allow")
        assert (await answered(client))["message"]["text"] == "All done."
    assert bench.note.notes == ["kept"]
    assert len(upstream.requests) == 2
    assert bench.look.notes == ["fern"]
