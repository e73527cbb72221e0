"""A chat is a tree: every version stays, and one branch is the current one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agent.harness import Client, Frame, Served, eventually, served_agent
from agent.scripted import Upstream


async def said(client: Client, text: str) -> tuple[str, str]:
    """Ask; returns the ids of the prompt and its answer."""
    prompt = (await client.ask(text))["message"]["id"]
    end = await client.until("turn_end")
    return prompt, end["message"]["id"]


def branch(client: Client, leaf_id: str) -> list[str]:
    """The texts from the first message to this one."""
    texts: list[str] = []
    cursor: str | None = leaf_id
    while cursor is not None:
        texts.append(client.messages[cursor]["text"])
        cursor = client.messages[cursor]["parent_id"]
    return texts[::-1]


async def history(client: Client) -> Frame:
    await client.open(client.session_id)
    return await client.until("history")


async def test_an_edited_prompt_is_another_branch_and_the_first_stays(
    client: Client, upstream: Upstream
) -> None:
    upstream.scripts = [["A1"], ["A2"], ["A3"]]
    first, answer = await said(client, "one")
    await said(client, "two")
    await client.send("prompt", session_id=client.session_id, text="other two", client_id="c3", after=answer)
    await client.until("turn_end")
    shown = await history(client)
    assert branch(client, shown["leaf_id"]) == ["one", "A1", "other two", "A3"]
    assert [m["content"] for m in upstream.requests[2]["messages"][1:]] == ["one", "A1", "other two"]
    assert len(shown["messages"]) == 6
    await client.send("prompt", session_id=client.session_id, text="other one", client_id="c4", first=True)
    await client.until("turn_end")
    shown = await history(client)
    assert branch(client, shown["leaf_id"])[0] == "other one"
    assert client.messages[first]["text"] == "one"


async def test_an_answer_beside_the_first(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["A1"], ["A2"]]
    prompt, answer = await said(client, "one")
    await client.send("regenerate", session_id=client.session_id, message_id=prompt)
    other = (await client.until("turn_end"))["message"]
    assert (other["text"], other["parent_id"]) == ("A2", prompt)
    shown = await history(client)
    assert (shown["leaf_id"], client.messages[answer]["text"]) == (other["id"], "A1")
    await client.send("select_branch", session_id=client.session_id, message_id=answer)
    assert (await client.until("history"))["leaf_id"] == answer
    upstream.scripts = [["A3"]]
    await said(client, "two")
    assert [m["content"] for m in upstream.requests[-1]["messages"][1:]] == ["one", "A1", "two"]


async def test_the_current_branch_survives_a_restart(upstream: Upstream, database_path: Path) -> None:
    upstream.scripts = [["A1"], ["A2"]]
    async with served_agent(database_path, upstream.base_url) as served, served.client() as client:
        await client.new_session()
        prompt, answer = await said(client, "one")
        await client.send("regenerate", session_id=client.session_id, message_id=prompt)
        await client.until("turn_end")
        await client.send("select_branch", session_id=client.session_id, message_id=answer)
        await client.until("history")
    async with served_agent(database_path, upstream.base_url, "e2") as served, served.client() as again:
        await again.open(client.session_id)
        assert (await again.until("history"))["leaf_id"] == answer


async def test_what_would_change_a_running_branch_is_refused(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["A1"], ["slow", _never]]
    prompt, answer = await said(client, "one")
    await client.ask("two")
    await client.until("text_delta")
    for kind, fields in (
        ("regenerate", {"message_id": prompt}),
        ("select_branch", {"message_id": answer}),
        ("prompt", {"text": "x", "client_id": "c9", "after": answer}),
        ("compact", {}),
    ):
        await client.send(kind, session_id=client.session_id, **fields)
        assert (await client.until("error"))["code"] == "not_possible"
    await client.send("abort", session_id=client.session_id)
    await client.until("turn_end")


async def _never() -> None:
    await asyncio.sleep(30)


async def test_a_branch_becomes_a_chat_of_its_own(served: Served, client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["A1"], ["A2"], ["A3"]]
    source = client.session_id
    _, answer = await said(client, "one")
    await said(client, "two")
    await client.send("fork_session", id=source, message_id=answer)
    forked = await client.until("history")
    assert forked["session_id"] != source
    assert [m["text"] for m in forked["messages"]] == ["one", "A1"]
    await said(client, "three")
    await client.open(source)
    assert [m["text"] for m in (await client.until("history"))["messages"]] == ["one", "A1", "two", "A2"]


async def test_a_deleted_chat_can_be_taken_back(client: Client) -> None:
    await said(client, "one")
    session_id = client.session_id
    await client.send("delete_session", id=session_id)
    await client.until("sessions", lambda frame: frame["sessions"] == [])
    await client.open(session_id)
    assert (await client.until("error"))["code"] == "unknown_session"
    await client.send("restore_session", id=session_id)
    await client.until("sessions", lambda frame: len(frame["sessions"]) == 1)
    await client.open(session_id)
    assert len((await client.until("history"))["messages"]) == 2


async def test_names_and_marks_stay(client: Client, served: Served) -> None:
    await said(client, "one")
    first = client.session_id
    await client.send("rename_session", id=first, title="  My fern  ")
    assert (await client.until("history"))["title"] == "My fern"
    await client.send("mark_session", id=first, pinned=True)
    await client.new_session()
    await said(client, "two")
    await client.send("mark_session", id=client.session_id, archived=True)
    frame = await client.until("sessions", lambda frame: any(row["archived"] for row in frame["sessions"]))
    rows = frame["sessions"]
    assert [(row["title"], row["pinned"], row["archived"]) for row in rows] == [
        ("My fern", True, False),
        ("two", False, True),
    ]


async def test_a_temporary_chat_never_touches_the_disk(
    served: Served, client: Client, database_path: Path, upstream: Upstream
) -> None:
    upstream.scripts = [["whispered-answer"]]
    await client.send("new_session", temporary=True)
    assert (await client.until("history"))["temporary"]
    await said(client, "whispered-question")
    await said(client, "again")
    assert [m["role"] for m in upstream.requests[-1]["messages"]] == ["system", "user", "assistant", "user"]
    assert {request["prompt_cache_retention"] for request in upstream.requests} == {"in_memory"}
    await client.send("list_sessions")
    assert (await client.until("sessions"))["sessions"] == []
    await served.agent.close()
    stored = b"".join(path.read_bytes() for path in database_path.parent.rglob("*") if path.is_file())
    assert b"whispered" not in stored


async def test_what_needs_a_chat_on_the_disk_is_refused_with_the_reason(
    client: Client, upstream: Upstream
) -> None:
    async def refused(kind: str, session_id: str, **fields: Any) -> str:
        await client.send(kind, id=session_id, **fields)
        error = await client.until("error")
        assert (error["code"], error["session_id"]) == ("not_possible", session_id)
        return error["message"]

    await client.new_session()
    assert "from its first message on" in await refused("mark_session", client.session_id, pinned=True)
    await client.send("new_session", temporary=True)
    temporary = (await client.until("history", lambda frame: frame["temporary"]))["session_id"]
    client.session_id = temporary
    await said(client, "hello")
    for marks in ({"pinned": True}, {"archived": True}, {"pinned": False, "archived": False}):
        assert "A temporary chat is not kept" in await refused("mark_session", temporary, **marks)
    await client.send("restore_session", id=temporary)
    assert (await client.until("error"))["code"] == "not_deleted"
    await client.send("rename_session", id=temporary, title="While it lasts")
    await client.until("history", lambda frame: frame["title"] == "While it lasts")
    await client.send("delete_session", id=temporary)
    assert (await client.until("deleted"))["session_id"] == temporary
    await client.send("restore_session", id=temporary)
    assert (await client.until("error"))["code"] == "unknown_session"
    await client.send("list_sessions")
    assert (await client.until("sessions"))["sessions"] == []


async def test_titles_come_from_the_model_in_the_background(upstream: Upstream, database_path: Path) -> None:
    upstream.scripts = [["Ferns are green."], ['"All about ferns"'], ["Sure."]]
    async with (
        served_agent(database_path, upstream.base_url, titles=True) as served,
        served.client() as client,
    ):
        await client.new_session()
        await said(client, "Tell me about ferns please")
        await client.until("sessions", lambda frame: frame["sessions"][0]["title"] == "All about ferns")
        assert upstream.requests[1]["priority"] == "background"
        assert "tools" not in upstream.requests[1]
        await said(client, "Really?")
        await eventually(lambda: len(upstream.requests) == 3)


async def test_older_messages_are_summarized_before_the_window_is_full(
    upstream: Upstream, database_path: Path
) -> None:
    upstream.models = {"data": [{"id": "scripted-1", "context_window": 12}]}
    upstream.scripts = [["A1"], ["A2"], ["They greeted."], ["A3"]]
    async with served_agent(database_path, upstream.base_url) as served, served.client() as client:
        await client.until("ready")
        await client.new_session()
        await said(client, "one")
        assert client.of("context")[-1]["tokens"] == 10
        assert client.of("context")[-1]["percent"] == 83.3
        await said(client, "two")
        await said(client, "three")
        assert upstream.requests[2]["messages"][-1]["content"].startswith("Summarize: ")
        sent = upstream.requests[3]["messages"]
        assert "They greeted." in sent[0]["content"]
        assert [m["content"] for m in sent[1:]] == ["two", "A2", "three"]
        shown = await history(client)
        [summary] = shown["summaries"]
        assert (summary["text"], summary["messages"]) == ("They greeted.", 2)
        assert len(shown["messages"]) == 6
        await client.send("undo_compact", session_id=client.session_id, summary_id=summary["id"])
        assert (await client.until("history"))["summaries"] == []
