"""Chats that are gone leave nothing in the prompt cache and in the SSD tier."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import openai
import pytest
from websockets.asyncio.client import connect

from agent.harness import Client
from fireside.engine.owners import owner_of
from fireside.engine.ssd_files import owner_of_file
from support.completions import ask, user
from support.server import Server, prepared_home, serving

FERNS = "Ferns like shade, and moss likes ferns. " * 40


@pytest.fixture(scope="module")
def own(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own, whose caches know only what this file asks."""
    with serving(prepared_home(tmp_path_factory.mktemp("forgetting"), server.home)) as running:
        yield running.wait_ready()


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Client]:
    url = server.url.replace("http", "ws") + "/ws"
    async with connect(url, proxy=None, max_size=None) as socket:
        page = Client(socket)
        await page.until("hello")
        yield page


def owners(server: Server) -> set[str | None]:
    """Whose files there are."""
    return {owner_of_file(path) for path in Path(server.home / "ssd-cache").glob("*.safetensors")}


def until(server: Server, *, there: Iterable[str] = (), gone: Iterable[str] = ()) -> None:
    deadline = time.monotonic() + 10
    while not ((found := owners(server)).issuperset(there) and found.isdisjoint(gone)):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_a_client_lets_a_conversation_be_forgotten(own: Server) -> None:
    client = openai.OpenAI(base_url=f"{own.url}/v1", api_key="none")

    def asked(key: str, text: str) -> Any:
        return client.chat.completions.create(
            model="local", messages=[{"role": "user", "content": text}], max_tokens=8, temperature=0,
            prompt_cache_key=key,
        )  # fmt: skip

    first = asked("diary", f"Diary. {FERNS}")
    asked("work", f"Work. {FERNS}")
    until(own, there={owner_of("diary"), owner_of("work")})
    told = client.post("/prompt_cache/forget", body={"prompt_cache_key": "diary"}, cast_to=object)
    assert isinstance(told, dict)
    assert told["files"] >= 1
    assert told["bytes"] > 100_000
    assert owners(own) == {owner_of("work")}
    again, other = asked("diary", f"Diary. {FERNS}"), asked("work", f"Work. {FERNS}")
    assert again.choices == first.choices
    assert again.usage.prompt_tokens_details.cached_tokens < 100  # the template's beginning, of the other one
    assert other.usage.prompt_tokens_details.cached_tokens > 300
    for body in ({}, {"prompt_cache_key": ""}, {"prompt_cache_key": 1}):
        with pytest.raises(openai.BadRequestError, match="prompt_cache_key"):
            client.post("/prompt_cache/forget", body=body, cast_to=object)


async def test_a_deleted_chat_takes_them_with_it_and_a_restored_one_is_read_anew(own: Server) -> None:
    async with connected(own) as page:
        await page.new_session()
        await page.ask(f"Chat. {FERNS}")
        await page.until("turn_end")
        chat = page.session_id
        until(own, there={owner_of(chat)})
        await page.send("delete_session", id=chat)
        await page.until("deleted")
        until(own, gone={owner_of(chat)})
        await page.send("restore_session", id=chat)
        await page.open(chat)
        await page.until("history")
        await page.ask("And moss?")
        await page.until("turn_end")
        until(own, there={owner_of(chat)})


async def test_a_temporary_chat_leaves_the_memory_when_it_is_deleted(own: Server) -> None:
    ask(own, [user("Hello.")], max_tokens=2)
    async with connected(own) as page:
        await page.send("new_session", temporary=True)
        await page.until("history")
        before = own.get("/stats")["prompt_cache"]["bytes"]
        await page.ask(f"Secret. {FERNS}")
        await page.until("turn_end")
        deadline = time.monotonic() + 10
        while (held := own.get("/stats")["prompt_cache"]["bytes"]) < before + 100_000:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        await page.send("delete_session", id=page.session_id)
        await page.until("deleted")
        while own.get("/stats")["prompt_cache"]["bytes"] > held - 100_000:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


async def test_what_was_missed_is_made_up_for_when_the_chat_goes_for_good(
    tmp_path: Path, server: Server
) -> None:
    """As after a kill between the deletion and what follows it."""
    home = prepared_home(tmp_path / "home", server.home)
    with serving(home) as first:
        async with connected(first.wait_ready()) as page:
            await page.new_session()
            await page.ask(f"Long ago. {FERNS}")
            await page.until("turn_end")
            chat = page.session_id
    until(first, there={owner_of(chat)})
    with closing(sqlite3.connect(home / "fireside.db")) as database, database:
        database.execute("UPDATE sessions SET deleted_at = 1")
    with serving(home) as second:
        until(second, gone={owner_of(chat)})
