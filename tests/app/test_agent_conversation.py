"""The real thing: a person, the page's socket, the agent, the engine and a model that calls tools.

Between the steps either process is killed; in the middle of each the client goes away and comes back.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from agent.harness import Client, Frame
from support.server import Server, prepared_home, serving

TOOLS = ["read", "bash", "edit", "memory_search", "memory_read", "memory_propose"]


@dataclass
class Person:
    """Whoever talks in one chat, on whatever Fireside runs right now."""

    server: Server
    session_id: str = ""
    answers: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def page(self) -> AsyncIterator[Client]:
        """The page, as it is after a reload."""
        url = self.server.url.replace("http", "ws") + "/ws"
        async with connect(url, proxy=None, max_size=None, max_queue=None) as socket:
            client = Client(socket)
            await client.until("hello")
            if not self.session_id:
                await client.send("new_session", settings={"tools": TOOLS})
                self.session_id = (await client.until("history"))["session_id"]
            else:
                await client.open(self.session_id)
                await client.until("history")
            yield client

    async def says(self, text: str) -> None:
        """Send a prompt and go away at once."""
        async with self.page() as page:
            await page.ask(text)

    async def sees_question(self) -> Frame:
        """Come back and find the call that asks."""
        async with self.page() as page:
            while not (asking := [call for call in calls(page) if call["status"] == "asking"]):
                await page.next()
            return asking[-1]

    async def decides(self, call: Frame, decision: str) -> str:
        """Decide; returns the turn's last answer."""
        async with self.page() as page:
            await page.send(
                "approval", session_id=self.session_id, call_id=call["call_id"], decision=decision
            )
            return await finished(page)

    async def sees_answer(self) -> str:
        """Come back and read the last answer, waiting for its end."""
        async with self.page() as page:
            return await finished(page)


def calls(page: Client) -> list[Frame]:
    return [call for message in page.messages.values() for call in message["tools"]]


async def finished(page: Client) -> str:
    """The text of the last message, once nothing runs."""
    while any(message["status"] in ("running", "queued") for message in page.messages.values()):
        await page.next()
    return [message["text"] for message in page.messages.values()][-1]


@pytest.fixture
def home(tmp_path: Path, server: Server) -> Path:
    return prepared_home(tmp_path / "home", server.home)


async def test_a_conversation_survives_the_death_of_either_process(home: Path) -> None:
    """Over 20 s: three starts of Fireside and two of a core, with a real model."""
    notes = home / "workspace" / "notes.txt"
    with serving(home) as first:
        first.wait_ready()
        notes.write_text("green ferns\nsecond line\n")
        person = Person(first)
        await person.says("Read notes.txt.")
        assert "green ferns" in await person.sees_answer()

        first.kill_core()
        await person.says("Run `echo crane`.")
        call = await person.sees_question()
        assert call["preview"] == {"kind": "command", "text": "echo crane"}
        os.kill(first.process.pid, signal.SIGKILL)

    with serving(home) as second:
        person.server = second.wait_ready()
        call = await person.sees_question()
        assert call["preview"]["text"] == "echo crane"
        assert "crane" in await person.decides(call, "allow")

        await person.says("Run `touch made`.")
        call = await person.sees_question()
        assert "not allowed" in await person.decides(call, "deny")
        assert not (home / "workspace" / "made").exists()

        await person.says("Replace `green` with `blue` in notes.txt.")
        call = await person.sees_question()
        assert call["preview"]["kind"] == "diff"
        assert "-green ferns\n+blue ferns" in call["preview"]["text"]
        second.kill_core()
        await person.decides(call, "allow")
        assert notes.read_text() == "blue ferns\nsecond line\n"
        await undo(person)
        assert notes.read_text() == "green ferns\nsecond line\n"
        second.post("/api/memory/init", {})
        os.kill(second.process.pid, signal.SIGKILL)

    with serving(home) as third:
        person.server = third.wait_ready()
        await person.says("Remember `Ferns like shade` in `Ferns`.")
        await person.sees_answer()
        [proposal] = third.get("/api/memory/proposals?status=open")["proposals"]
        assert "Ferns like shade" in proposal["diff"]
        assert not (home / "wiki" / "articles" / "Ferns.md").exists()
        os.kill(third.process.pid, signal.SIGKILL)

    with serving(home) as fourth:
        person.server = fourth.wait_ready()
        fourth.post(f"/api/memory/proposals/{proposal['id']}/accept", {})
        assert "Ferns like shade" in (home / "wiki" / "articles" / "Ferns.md").read_text()
        assert len(commits(home / "wiki", "articles/Ferns.md")) == 1
        await person.says("Search your memory for shade.")
        assert "Ferns" in str((await last_calls(person))[-1]["result"])
        states = [(call["name"], call["status"]) for call in await last_calls(person)]
        assert states == [
            ("read", "done"),
            ("bash", "done"),
            ("bash", "denied"),
            ("edit", "done"),
            ("memory_propose", "done"),
            ("memory_search", "done"),
        ]


def commits(vault: Path, name: str) -> list[str]:
    command = ["git", "-C", str(vault), "log", "--format=%s", "--", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


async def undo(person: Person) -> None:
    async with person.page() as page:
        call = next(call for call in calls(page) if call["changes"])
        path = call["changes"][0]["path"]
        await page.send("undo_change", session_id=person.session_id, call_id=call["call_id"], path=path)
        await page.until("tool_end", lambda frame: frame["call"]["changes"][0]["undone"])


async def last_calls(person: Person) -> list[Any]:
    await person.sees_answer()
    async with person.page() as page:
        return calls(page)
