"""What a hostile model, a clumsy person and a crash must not bring about."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.harness import Client, served_agent
from agent.scripted import Upstream, call_chunks
from agent.tooling import (
    Bench,
    answered,
    asked,
    at_bench,
    calling,
    decide,
    tools_of,
    with_tools,
)
from agent.tools.web_servers import Site, local_settings, response, site

NOTE = {"text": "harmless"}


@pytest.fixture
async def client(upstream: Upstream, database_path: Path, bench: Bench) -> AsyncIterator[Client]:
    async with at_bench(upstream, database_path, bench) as connected:
        yield connected


async def test_a_yes_to_one_call_is_none_to_another_of_the_same_id(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [
        calling(("note", NOTE)), calling(("note", {"text": "DANGER"})), ["Done."],
    ]  # fmt: skip
    await client.ask("Go.")
    first = await asked(client)
    await decide(client, first)
    second = await asked(client)
    assert first["call_id"] != second["call_id"]
    await decide(client, first)
    assert (await client.until("error"))["code"] == "already_settled"
    await decide(client, second, "deny")
    await answered(client)
    assert bench.note.notes == ["harmless"]


async def test_only_what_the_card_offers_becomes_a_rule(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(("note", NOTE)), ["Done."]]
    await client.ask("Go.")
    call = await asked(client)
    for fields in ({"always": "rule"}, {"always": "tool", "edited_arguments": '{"text": "other"}'}):
        await decide(client, call, **fields)
        assert (await client.until("error"))["code"] == "not_possible"
    await decide(client, call)
    await answered(client)
    assert bench.note.notes == ["harmless"]


@pytest.mark.parametrize(
    "chunks",
    [
        call_chunks("look", '{"text": "\ud83d'),
        call_chunks("lo\udc00ok", {"text": "a"}),
        call_chunks("look", {"text": "a"}, "call_\ud800"),
        call_chunks("look", '{"a":' * 100_000 + "1" + "}" * 100_000),
        call_chunks("", {"text": "a"}),
        call_chunks("a\nb" * 3000, {"text": "a"}),
    ],
)
async def test_no_call_makes_a_chat_unusable(
    client: Client, upstream: Upstream, chunks: list[dict[str, Any]]
) -> None:
    upstream.scripts = [[*chunks], ["I see."], ["Still here."]]
    await client.ask("Go.")
    assert (await answered(client))["status"] == "done"
    await client.ask("Are you there?")
    assert (await answered(client))["message"]["text"] == "Still here."
    await client.open(client.session_id)
    await client.until("history")


async def test_a_copy_of_a_chat_that_asks_asks_nothing(
    client: Client, upstream: Upstream, bench: Bench
) -> None:
    upstream.scripts = [calling(("note", NOTE)), ["Done."]]
    source = client.session_id
    await client.ask("Go.")
    call = await asked(client)
    answer = next(m["id"] for m in client.messages.values() if m["tools"])
    await client.send("fork_session", id=source, message_id=answer)
    await client.until("history", lambda frame: frame["session_id"] != source)
    [copy] = tools_of(client)
    assert copy["status"] == "aborted"
    await decide(client, copy)
    assert (await client.until("error"))["code"] == "already_settled"
    await client.open(source)
    await client.until("history")
    await decide(client, call)
    await answered(client)
    assert bench.note.notes == ["harmless"]


async def test_a_tool_that_breaks_is_a_failed_call(
    client: Client, upstream: Upstream, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(call: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(bench.look, "run", broken)
    upstream.scripts = [calling(("look", NOTE), ("look", {"text": "b"})), ["I see."]]
    await client.ask("Go.")
    assert (await answered(client))["message"]["text"] == "I see."
    assert [call["status"] for call in tools_of(client)] == ["failed", "failed"]


async def test_a_temporary_chat_stays_off_the_disk_in_every_way(
    client: Client, upstream: Upstream, bench: Bench, database_path: Path
) -> None:
    await client.send("new_session", temporary=True, settings={"tools": ["note"]})
    await client.until("history")
    upstream.scripts = [calling(("note", {"text": "secret"})), ["Done."]]
    await client.ask("secret?")
    call = await asked(client)
    assert [offer["scope"] for offer in call["offers"]] == ["session"]
    await decide(client, call, always="session")
    end = await answered(client)
    await client.send("fork_session", id=client.session_id, message_id=end["message"]["id"])
    assert (await client.until("error"))["code"] == "not_possible"
    await client.send(
        "prompt",
        session_id=client.session_id,
        text="see",
        client_id="c9",
        attachments=[{"sha256": "a" * 64, "name": "a.txt"}],
    )
    assert (await client.until("error"))["code"] == "not_possible"
    with closing(sqlite3.connect(database_path)) as connection:
        for table in ("sessions", "messages", "approvals", "approval_rules"):
            assert connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone() == (0,), table


async def test_what_a_killed_app_was_doing_has_a_result_afterwards(
    upstream: Upstream, database_path: Path, bench: Bench
) -> None:
    upstream.scripts = [calling(("slow", {"text": "a"}), ("note", NOTE)), ["More."]]
    copy = database_path.with_name("killed.db")
    async with (
        served_agent(database_path, upstream.base_url, extra_tools=bench.tools) as served,
        served.client() as client,
    ):
        await with_tools(client)
        await client.ask("Go.")
        await client.until("tool_update")
        await asyncio.sleep(0.3)
        with closing(sqlite3.connect(database_path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        session_id = client.session_id
    async with (
        served_agent(copy, upstream.base_url, "e2", extra_tools=bench.tools) as served,
        served.client() as client,
    ):
        await client.open(session_id)
        await client.until("history")
        assert [call["status"] for call in tools_of(client)] == ["aborted", "aborted"]
        assert "stopped while this was running" in tools_of(client)[0]["result"]
        assert "before this was run" in tools_of(client)[1]["result"]


@pytest.fixture
async def web() -> Any:
    async with site({"/page": response("<p>hello</p>", "text/html")}) as running:
        yield running


@pytest.fixture
async def real(upstream: Upstream, database_path: Path, web: Site) -> Any:
    settings = local_settings(web, "site.example")
    async with (
        served_agent(database_path, upstream.base_url, web=settings) as served,
        served.client() as connected,
    ):
        await connected.send("new_session", settings={"tools": ["bash", "edit", "write", "web_fetch"]})
        await connected.until("history")
        yield connected


async def test_what_an_edit_that_failed_or_a_stopped_command_showed_counts_as_seen(
    real: Client, upstream: Upstream, web: Site, database_path: Path
) -> None:
    url = f"http://site.example:{web.port}/page"
    (database_path.parent / "home" / "workspace" / "keys.txt").write_text("password=hunter2\nmore\n")
    edit = {"path": "keys.txt", "old_text": "password=\nx", "new_text": "y"}
    upstream.scripts = [calling(("edit", edit)), calling(("web_fetch", {"url": url})), ["Ok."]]
    await real.ask(f"Go. {url}")
    assert (await asked(real))["name"] == "web_fetch"
    await real.send("abort", session_id=real.session_id)
    await answered(real)

    await real.send("new_session", settings={"tools": ["bash", "web_fetch"]})
    await real.until("history")
    upstream.scripts = [calling(("bash", {"command": "echo secret; sleep 30"}))]
    await real.ask("Run it.")
    await decide(real, await asked(real))
    await real.until("tool_update")
    await real.send("abort", session_id=real.session_id)
    await answered(real)
    upstream.scripts = [calling(("web_fetch", {"url": url})), ["Ok."]]
    await real.ask(f"Fetch {url}")
    assert (await asked(real))["name"] == "web_fetch"
    assert web.requests == []


async def test_an_undo_while_the_turn_goes_on_is_kept(
    real: Client, upstream: Upstream, database_path: Path
) -> None:
    file = database_path.parent / "home" / "workspace" / "a.txt"
    go = asyncio.Event()

    async def wait() -> None:
        await go.wait()

    upstream.scripts = [calling(("write", {"path": "a.txt", "content": "new"})), [wait, "Ok."]]
    await real.ask("Go.")
    await decide(real, await asked(real))
    done = (await real.until("tool_end"))["call"]
    path = done["changes"][0]["path"]
    await real.send("undo_change", session_id=real.session_id, call_id=done["call_id"], path=path)
    await real.until("tool_end", lambda frame: frame["call"]["changes"][0]["undone"])
    go.set()
    await answered(real)
    await real.open(real.session_id)
    await real.until("history")
    assert tools_of(real)[0]["changes"][0]["undone"]
    assert not file.exists()


async def test_a_rule_for_a_file_is_for_no_other(
    real: Client, upstream: Upstream, database_path: Path
) -> None:
    upstream.scripts = [calling(("write", {"path": "notes/*", "content": "a"})), ["Ok."]]
    await real.ask("Go.")
    await decide(real, await asked(real), always="rule")
    await answered(real)
    upstream.scripts = [calling(("write", {"path": "notes/*", "content": "b"})), ["Ok."]]
    await real.ask("Again.")
    await answered(real)
    upstream.scripts = [calling(("write", {"path": "notes/other.txt", "content": "a"})), ["Ok."]]
    await real.ask("Another.")
    assert (await asked(real))["preview"]["kind"] == "diff"
    notes = database_path.parent / "home" / "workspace" / "notes"
    assert [file.name for file in notes.iterdir()] == ["*"]
