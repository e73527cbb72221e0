"""Deleted chats: listed, restored, deleted for good, and then nowhere on the disk."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.harness import Client, Served, eventually, served_agent
from agent.scripted import Upstream
from agent.tooling import answered, asked, calling, decide
from fireside_agent.search.index import check
from fireside_agent.search.triggers import FULL_TEXT
from fireside_agent.store.migrations import back_up
from fireside_agent.trash import trash
from fireside_agent.trash.routes import ADDRESS
from fireside_agent.trash.sessions import UNDO_SECONDS

WORD = "qzxvmarmalade7k3w9"
TAIL = WORD[3:].encode()
"""A full-text index keeps a word without what it shares with the one before."""


@pytest.fixture
async def web(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", trust_env=False) as connected:
        yield connected


async def said(client: Client, text: str) -> str:
    """A chat of its own with this prompt and an answer; returns its id."""
    await client.new_session()
    await client.ask(text)
    await answered(client)
    return client.session_id


async def deleted(client: Client, *texts: str) -> list[str]:
    """Deleted chats with these prompts."""
    ids = [await said(client, text) for text in texts]
    for session_id in ids:
        await client.send("delete_session", id=session_id)
        await client.until("deleted")
    return ids


async def listed(web: httpx.AsyncClient) -> list[dict[str, Any]]:
    return (await web.get(ADDRESS)).raise_for_status().json()["sessions"]


async def purge(web: httpx.AsyncClient, *ids: str) -> httpx.Response:
    return await web.request("DELETE", ADDRESS, json={"ids": list(ids)}, timeout=10)


def rows(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute(sql)]


def gone(path: Path) -> Callable[[], bool]:
    """Whether nothing is on its way out any more and the log is empty."""
    log = path.with_name(f"{path.name}-wal")
    return lambda: rows(path, "SELECT 1 FROM sessions WHERE deleted_at = 0") == [] and not log.stat().st_size


def holding(folder: Path) -> list[str]:
    """The files below a folder that hold the word, as it was typed or as an index has it."""
    files = [path for path in folder.rglob("*") if path.is_file() and "workspace" not in path.parts]
    return sorted(path.name for path in files if TAIL in path.read_bytes().lower())


async def test_deleted_chats_are_listed_and_restored(
    served: Served, client: Client, web: httpx.AsyncClient
) -> None:
    before = time.time()
    first, second = await deleted(client, "one", "two")
    shown = (await web.get(ADDRESS)).json()
    assert shown["kept_days"] == 30
    assert [row["id"] for row in shown["sessions"]] == [second, first]
    row = shown["sessions"][1]
    assert (row["title"], row["message_count"]) == ("one", 2)
    assert before <= row["deleted_at"] <= time.time()
    assert row["purged_at"] == row["deleted_at"] + UNDO_SECONDS
    async with served.client() as other:
        await other.send("list_sessions")
        assert (await other.until("sessions"))["deleted"] == 2
        (await web.post(f"{ADDRESS}/restore", json={"id": first})).raise_for_status()
        frame = await other.until("sessions", lambda frame: frame["deleted"] == 1)
        assert [row["id"] for row in frame["sessions"]] == [first]
    assert [row["id"] for row in await listed(web)] == [second]


async def test_one_or_all_are_deleted_for_good_and_other_clients_are_told(
    served: Served, client: Client, web: httpx.AsyncClient
) -> None:
    kept = await said(client, "kept")
    one, two, three = await deleted(client, "one", "two", "three")
    async with served.client() as other:
        assert (await purge(web, two)).status_code == 200
        await other.until("sessions", lambda frame: frame["deleted"] == 2)
        assert (await purge(web, one, three)).status_code == 200
        frame = await other.until("sessions", lambda frame: frame["deleted"] == 0)
    assert [row["id"] for row in frame["sessions"]] == [kept]
    assert await listed(web) == []
    await client.send("restore_session", id=two)
    assert (await client.until("error"))["code"] == "unknown_session"


@pytest.mark.parametrize("method", ["restore", "purge"])
async def test_what_is_not_deleted_is_named_and_nothing_is_done(
    client: Client, web: httpx.AsyncClient, method: str
) -> None:
    kept = await said(client, "kept")
    (waiting,) = await deleted(client, "deleted")

    async def ask(session_id: str) -> tuple[int, str]:
        if method == "restore":
            answer = await web.post(f"{ADDRESS}/restore", json={"id": session_id})
        else:
            answer = await purge(web, waiting, session_id)
        return answer.status_code, answer.json()["error"]["code"]

    assert await ask(kept) == (409, "not_deleted")
    assert await ask("nowhere") == (404, "unknown_session")
    assert [row["id"] for row in await listed(web)] == [waiting]
    assert (await web.request("DELETE", ADDRESS, json={"ids": []})).status_code == 400
    assert (await web.request("DELETE", ADDRESS, json={})).json()["error"]["param"] == "ids"


async def test_what_is_deleted_for_good_is_nowhere_on_the_disk(
    served: Served, client: Client, web: httpx.AsyncClient, upstream: Upstream, tmp_path: Path
) -> None:
    home, database = tmp_path / "home", tmp_path / "fireside.db"
    await served.agent.parts.vault.init()
    note = home / "workspace" / "note.txt"
    upstream.scripts = [
        ["One."], ["Two."], [f"Three, {WORD}."], [f"They spoke of {WORD}."],
        calling(("write", {"path": str(note), "content": f"first {WORD}"})), ["Written."],
        calling(("memory_propose", {"article": "Jam", "text": f"Likes {WORD}."})), ["Proposed."],
    ]  # fmt: skip
    upload = {"file": (f"{WORD}.txt", f"{WORD} in a file".encode(), "text/plain")}
    file = (await web.post("/api/attachments", files=upload)).raise_for_status().json()
    settings = {"instructions": f"Speak of {WORD}.", "tools": ["write", "memory_propose"]}
    await client.send("new_session", settings=settings)
    await client.until("history")
    session_id = client.session_id
    attached = [{"sha256": file["sha256"], "name": file["name"]}]
    await client.send("prompt", session_id=session_id, text=WORD, client_id="c1", attachments=attached)
    await answered(client)
    for text in ("more", "and more"):
        await client.ask(text)
        await answered(client)
    await client.send("compact", session_id=session_id)
    await client.until("context", lambda frame: frame["tokens"] is None)
    await client.ask("Write it down")
    await decide(client, await asked(client), always="session")
    await answered(client)
    await client.ask("Remember it")
    await answered(client)
    await client.send("rename_session", id=session_id, title=f"About {WORD}")
    await client.until("history", lambda frame: WORD in frame["title"])
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        for table in FULL_TEXT:  # so that none of them is about to be merged by itself
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        copy = back_up(connection, database, "m003")
        connection.execute("PRAGMA wal_checkpoint")  # so that both files hold it
    journal, proposal = list((home / "journal").iterdir()), list((home / "proposals").iterdir())
    found = holding(tmp_path)
    holders = {path.name for path in (*journal, *proposal, copy, database)}
    assert holders | {file["sha256"], "fireside.db-wal"} <= set(found)
    kept = await said(client, "a marmalade that stays")

    await client.send("delete_session", id=session_id)
    await client.until("deleted")
    assert served.agent.parts.book.list() != []
    assert (await purge(web, session_id)).status_code == 200
    await eventually(gone(database))
    assert holding(tmp_path) == []
    assert served.agent.parts.book.list() == []
    assert not [path for path in (home / "attachments").rglob("*") if path.is_file()]
    assert note.read_text() == f"first {WORD}", "the person's own files stay"
    for path in (database, copy):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            assert check(connection, thorough=True) is None
    hits = (await web.get("/api/search", params={"q": "marmalade"})).json()["hits"]
    assert {hit["session_id"] for hit in hits} == {kept}


async def test_what_other_chats_hold_too_stays(
    served: Served, client: Client, web: httpx.AsyncClient, tmp_path: Path
) -> None:
    file = (await web.post("/api/attachments", files={"file": ("a.txt", b"shared")})).json()
    for name in ("c1", "c2"):
        await client.new_session()
        attached = [{"sha256": file["sha256"], "name": name}]
        await client.send(
            "prompt", session_id=client.session_id, text=name, client_id=name, attachments=attached
        )
        await answered(client)
    await client.send("delete_session", id=client.session_id)
    await client.until("deleted")
    await purge(web, client.session_id)
    await eventually(gone(tmp_path / "fireside.db"))
    assert (await web.get(f"/api/attachments/{file['sha256']}")).content == b"shared"


async def test_copies_for_the_undo_of_other_and_temporary_chats_stay(
    served: Served, client: Client, web: httpx.AsyncClient, upstream: Upstream, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    note = home / "workspace" / "note.txt"
    upstream.scripts = [
        calling(("write", {"path": str(note), "content": "first"})), ["Written."],
        calling(("edit", {"path": str(note), "old_text": "first", "new_text": "second"})), ["Edited."],
    ]  # fmt: skip
    await client.send("new_session", settings={"tools": ["write"]})
    await client.until("history")
    await client.ask("Write")
    await decide(client, await asked(client))
    await answered(client)
    doomed = client.session_id
    await client.send("new_session", temporary=True, settings={"tools": ["edit"]})
    await client.until("history")
    await client.ask("Edit")
    call = await asked(client)
    await decide(client, call)
    await answered(client)
    temporary = client.session_id
    async with served.client() as other:
        await other.send("delete_session", id=doomed)
        await other.until("deleted")
    await purge(web, doomed)
    await eventually(gone(tmp_path / "fireside.db"))
    await client.send("undo_change", session_id=temporary, call_id=call["call_id"], path=str(note))
    await client.until("tool_end", lambda frame: frame["call"]["changes"][0]["undone"])
    assert note.read_text() == "first"


async def test_what_was_deleted_long_ago_goes_by_itself_while_fireside_runs(
    served: Served, client: Client, web: httpx.AsyncClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "fireside.db"
    old, young = await deleted(client, "old", "young")

    def age(connection: sqlite3.Connection) -> None:
        long_ago = time.time() - UNDO_SECONDS - 1
        connection.execute("UPDATE sessions SET deleted_at = ? WHERE id = ?", [long_ago, old])

    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        age(connection)
    monkeypatch.setattr(trash, "TIDY_SECONDS", 0.02)
    running = asyncio.create_task(served.agent.trash.tidy_up())
    await eventually(lambda: rows(database, "SELECT id FROM sessions") == [young])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [row["id"] for row in await listed(web)] == [young]


async def test_a_purge_that_was_interrupted_is_finished_at_the_next_start(
    upstream: Upstream, database_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served_agent(database_path, upstream.base_url) as served, served.client() as client:
        (session_id,) = await deleted(client, f"the {WORD}")
        served.agent.trash._wake.set = lambda: None  # type: ignore[method-assign]
        await served.agent.trash.purge([session_id])
        assert rows(database_path, "SELECT id FROM sessions WHERE deleted_at = 0") == [session_id]
    async with served_agent(database_path, upstream.base_url):
        await eventually(lambda: rows(database_path, "SELECT id FROM sessions") == [])
        await eventually(gone(database_path))
        assert holding(database_path.parent) == []


async def test_a_reader_of_the_log_holds_nothing_up_and_the_next_purge_empties_it(
    client: Client, web: httpx.AsyncClient, database_path: Path
) -> None:
    one, two = await deleted(client, WORD, "two")
    log = database_path.with_name("fireside.db-wal")
    with closing(sqlite3.connect(database_path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM messages").fetchall()
        assert (await purge(web, one)).status_code == 200
        await eventually(lambda: rows(database_path, "SELECT id FROM sessions") == [two])
        assert log.stat().st_size > 0
    await purge(web, two)
    await eventually(gone(database_path))
    assert holding(database_path.parent) == []


async def test_a_copy_that_cannot_be_changed_keeps_the_chat_and_is_named(
    client: Client, web: httpx.AsyncClient, database_path: Path
) -> None:
    (session_id,) = await deleted(client, "one")
    copy = database_path.with_name("fireside.db.backup-20260101T000000-m002")
    copy.write_bytes(b"no database at all, but long enough to be taken for one. " * 20)
    answer = await purge(web, session_id)
    assert answer.status_code == 503
    assert copy.name in answer.json()["error"]["message"]
    assert [row["message_count"] for row in await listed(web)] == [2]
    copy.unlink()
    assert (await purge(web, session_id)).status_code == 200


async def test_a_disk_that_fails_is_named_and_the_chat_can_still_be_restored(
    served: Served, client: Client, web: httpx.AsyncClient, database_path: Path
) -> None:
    (session_id,) = await deleted(client, "one")
    with closing(sqlite3.connect(database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = await purge(web, session_id)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_failed")
    (await web.post(f"{ADDRESS}/restore", json={"id": session_id})).raise_for_status()
    await client.open(session_id)
    assert len((await client.until("history"))["messages"]) == 2
