"""What is left when the app is killed in mid-answer, and when the disk fails."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from agent.harness import Client, Served, served_agent
from agent.scripted import Step, Upstream
from fireside_agent.settling import NEVER_ASKED
from fireside_agent.store.database import Database

CHILD = """
import asyncio, sys
from pathlib import Path
from agent.harness import served_agent

async def main():
    async with served_agent(Path(sys.argv[1]), sys.argv[2]) as served:
        print(served.port, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""

STORED_AFTER_SECONDS = 0.3

MID_ANSWER_SECONDS = 0.45
"""More patient, because it is looked at many times: the machine may stand still for a moment."""


async def short_pause() -> None:
    await asyncio.sleep(0.01)


@asynccontextmanager
async def child_agent(database: Path, base_url: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(database), base_url,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process, int(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def watch_for(client: Client, seconds: float, database: Path) -> list[tuple[float, str]]:
    """The running answer's text after each frame, with the time it was seen."""
    seen: list[tuple[float, str]] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                frame = await client.next()
                if frame["type"] == "text_delta":
                    seen.append((time.monotonic(), client.messages[frame["message_id"]]["text"]))
                    assert rows(database)[-1]["text"].startswith(seen_before(seen, MID_ANSWER_SECONDS))
    return seen


def seen_before(seen: list[tuple[float, str]], seconds: float) -> str:
    """The text as it was so many seconds ago."""
    return next((text for when, text in reversed(seen) if when < time.monotonic() - seconds), "")


def rows(database: Path) -> list[sqlite3.Row]:
    """The stored messages: prompts in order, then answers."""
    with closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute("SELECT * FROM messages ORDER BY role DESC, position").fetchall()


@pytest.mark.parametrize("seed", range(3))
async def test_a_killed_app_has_stored_what_it_sent_300_ms_before(
    upstream: Upstream, database_path: Path, seed: int
) -> None:
    script: list[Step] = [step for i in range(2_000) for step in (f"word{i} ", short_pause)]
    upstream.scripts = [script]
    async with child_agent(database_path, upstream.base_url) as (process, port):
        async with connect(f"ws://127.0.0.1:{port}/ws", proxy=None) as socket:
            client = Client(socket)
            await client.new_session()
            await client.ask("Many words, please.")
            await client.ask("And then?")
            seen = await watch_for(client, 0.8 + random.Random(seed).random(), database_path)
            old_enough = seen_before(seen, STORED_AFTER_SECONDS)
            process.send_signal(signal.SIGKILL)
        await process.wait()
    asked, waiting, answer = rows(database_path)
    assert old_enough
    assert answer["text"].startswith(old_enough)
    assert (asked["status"], waiting["status"], answer["status"]) == ("done", "queued", "running")

    async with served_agent(database_path, upstream.base_url) as served, served.client() as again:
        asked, waiting, marked = rows(database_path)
        assert (marked["status"], marked["text"]) == ("interrupted", answer["text"])
        assert (waiting["status"], waiting["text"]) == ("interrupted", "And then?")
        assert waiting["error"] == NEVER_ASKED
        history = await (await again.open(client.session_id)).until("history")
        texts = ["Many words, please.", answer["text"], "And then?"]
        assert [message["text"] for message in history["messages"]] == texts

        upstream.scripts = [["Hello again."]]
        await again.ask("Are you back?")
        await again.until("turn_end")
    # The prompt that was never asked is not part of the conversation; the interrupted answer is.
    sent = upstream.requests[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"] == answer["text"]


async def test_close_marks_what_was_running_and_what_waited(upstream: Upstream, database_path: Path) -> None:
    never = asyncio.Event()
    upstream.scripts = [["partial", never.wait]]  # type: ignore[list-item]
    async with served_agent(database_path, upstream.base_url) as served, served.client() as client:
        await client.new_session()
        await client.ask("first")
        await client.ask("second")
        await client.until_shown("partial")
    stored = [(row["text"], row["status"]) for row in rows(database_path)]
    assert stored == [("first", "done"), ("second", "interrupted"), ("partial", "interrupted")]


@pytest.fixture
async def impatient(
    upstream: Upstream, database_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Served]:
    """An agent whose database does not wait for locks."""
    monkeypatch.setattr("fireside_agent.agent.Database", partial(Database, busy_seconds=0.01))
    async with served_agent(database_path, upstream.base_url) as served:
        yield served


@asynccontextmanager
async def unwritable(database: Path) -> AsyncIterator[None]:
    """Another program holds the database's write lock."""
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield


async def test_a_prompt_that_cannot_be_stored_is_refused_and_can_be_sent_again(
    impatient: Served, database_path: Path, upstream: Upstream
) -> None:
    async with impatient.client() as client:
        await client.new_session()
        async with unwritable(database_path):
            await client.send("prompt", session_id=client.session_id, text="Hello?", client_id="c1")
            error = await client.until("error")
            assert (error["code"], error["client_id"]) == ("storage_failed", "c1")
            assert "another program holds it" in error["message"]
        assert upstream.requests == []
        await client.ask("Hello?", client_id="c1")
        assert (await client.until("turn_end"))["status"] == "done"


async def test_whoever_connects_hears_that_nothing_can_be_stored_and_everybody_that_it_can_again(
    impatient: Served, database_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fireside_agent.keeping.TRY_AGAIN_SECONDS", 0.05)
    async with impatient.client() as first:
        await first.new_session()
        async with unwritable(database_path):
            await first.send("prompt", session_id=first.session_id, text="Hello?", client_id="c1")
            problem = (await first.until("storage"))["problem"]
            assert "another program holds it" in problem
            async with impatient.client() as second:
                assert (await second.until("storage"))["problem"] == problem
                await asyncio.sleep(0.3)
                assert [frame["problem"] for frame in first.of("storage")] == [problem]
        assert (await first.until("storage"))["problem"] == ""
    assert rows(database_path) == []


async def test_an_answer_goes_on_while_it_cannot_be_stored_and_is_stored_when_it_can(
    impatient: Served, database_path: Path, upstream: Upstream
) -> None:
    go = asyncio.Event()
    upstream.scripts = [["begun ", go.wait, "and finished"]]  # type: ignore[list-item]
    async with impatient.client() as client:
        await client.new_session()
        await client.ask("Hello?")
        await client.until("turn_start")
        async with unwritable(database_path):
            assert (await client.until("error"))["code"] == "storage_failed"
        go.set()
        assert (await client.until("turn_end"))["status"] == "done"
    assert [row["text"] for row in rows(database_path)] == ["Hello?", "begun and finished"]


async def test_an_answer_that_cannot_be_stored_says_so_and_the_queue_too(
    impatient: Served, database_path: Path, upstream: Upstream
) -> None:
    go = asyncio.Event()
    upstream.scripts = [["unstored", go.wait]]  # type: ignore[list-item]
    async with impatient.client() as client:
        await client.new_session()
        await client.ask("first")
        await client.ask("second")
        await client.until_shown("unstored")
        async with unwritable(database_path):
            go.set()
            end = await client.until("turn_end")
            assert (end["status"], end["message"]["text"]) == ("error", "unstored")
            assert "not stored" in end["message"]["error"]
            history = await client.until("history")
        second = next(m for m in history["messages"] if m["text"] == "second")
        assert second["status"] == "error"
        assert "not asked" in second["error"]
        await client.ask("third")
        assert (await client.until("turn_end"))["status"] == "done"


async def test_a_session_that_cannot_be_deleted_stays_usable(
    impatient: Served, database_path: Path, upstream: Upstream
) -> None:
    never = asyncio.Event()
    upstream.scripts = [["partial", never.wait], ["fine"]]  # type: ignore[list-item]
    async with impatient.client() as client:
        await client.new_session()
        await client.ask("first")
        await client.until_shown("partial")
        async with unwritable(database_path):
            await client.send("delete_session", id=client.session_id)
            await client.send("not a frame")  # answered when the one before it has been dealt with
            await client.until("error", lambda frame: frame["code"] == "invalid_frame")
        assert "storage_failed" in [frame["code"] for frame in client.of("error")]
        assert client.of("deleted") == []
        await client.ask("second")
        await client.until("turn_end", lambda frame: frame["message"]["text"] == "fine")
        assert [frame["message"]["text"] for frame in client.of("turn_end")] == ["partial", "fine"]
