"""Sessions in memory, where the order of events matters and sockets only get in the way."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.harness import agent_config, eventually
from agent.scripted import Upstream
from fireside_agent.agent import Agent
from fireside_agent.client_frames import Prompt
from fireside_agent.errors import DatabaseClosedError, FrameRefusedError, StorageError
from fireside_agent.hub import Hub
from fireside_agent.messages import Message
from fireside_agent.provider import AnswerEvent, AnswerText, Provider
from fireside_agent.question import Question
from fireside_agent.rendering import Rendering
from fireside_agent.services import Services
from fireside_agent.session import LiveSession
from fireside_agent.settling import NEVER_ASKED


async def ask(session: LiveSession, text: str, client_id: str) -> str:
    return await session.ask(Prompt(session_id=session.conversation.id, text=text, client_id=client_id))


class SlowRendering(Rendering):
    """Renders stored messages when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def messages(self, messages: list[Message], leaf_id: str | None) -> list[Message]:
        self.asked.set()
        await self.go.wait()
        return await super().messages(messages, leaf_id)


@pytest.fixture
async def services(upstream: Upstream, database_path: Path) -> AsyncIterator[Services]:
    agent = Agent(agent_config(database_path, upstream.base_url))
    await agent.start()
    rendering = SlowRendering()
    yield replace(agent.services, rendering=rendering, sessions_changed=lambda: None)
    rendering.close()
    await agent.close()


@pytest.fixture
async def hub(services: Services) -> AsyncIterator[Hub]:
    hub = Hub(services, "epoch-1")
    yield hub
    await hub.close()


async def stored_session(services: Services, upstream: Upstream) -> str:
    """A session with one prompt and its answer, not in memory of any other hub."""
    hub = Hub(services, "epoch-0")
    session = hub.new()
    await ask(session, "Hello?", "c1")
    await eventually(lambda: not session.running and len(upstream.requests) == 1)
    await hub.close()
    return session.conversation.id


async def test_a_prompt_whose_asker_goes_away_is_stored_and_asked_once(
    hub: Hub, database_path: Path, upstream: Upstream
) -> None:
    session = hub.new()
    with closing(sqlite3.connect(database_path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        asking = asyncio.create_task(ask(session, "Hello?", "c1"))
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    accepted = json.loads(await ask(session, "Hello?", "c1"))
    await eventually(lambda: not session.running and len(upstream.requests) == 1)
    assert accepted["message"]["client_id"] == "c1"
    assert [message.role for message in session.conversation.transcript] == ["user", "assistant"]


async def test_a_session_that_is_deleted_while_it_is_loaded_does_not_come_back(
    hub: Hub, services: Services, upstream: Upstream
) -> None:
    session_id = await stored_session(services, upstream)
    rendering = services.rendering
    assert isinstance(rendering, SlowRendering)
    loading = asyncio.create_task(hub.get(session_id))
    await rendering.asked.wait()
    await hub.delete(session_id)
    rendering.go.set()
    with pytest.raises(FrameRefusedError):
        await loading
    assert hub.live == frozenset()


async def test_a_session_opened_twice_at_once_is_one(
    hub: Hub, services: Services, upstream: Upstream
) -> None:
    session_id = await stored_session(services, upstream)
    rendering = services.rendering
    assert isinstance(rendering, SlowRendering)
    rendering.go.set()
    first, second = await asyncio.gather(hub.get(session_id), hub.get(session_id))
    assert first is second


async def test_the_queue_goes_on_when_deleting_failed(
    services: Services, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(session_id: str) -> bool:
        raise StorageError("no")

    never = asyncio.Event()
    upstream.scripts = [["partial", never.wait], ["fine"]]  # type: ignore[list-item]
    monkeypatch.setattr(services.store, "delete", fail)
    hub = Hub(services, "epoch-1")
    session = hub.new()
    await ask(session, "first", "c1")
    await ask(session, "second", "c2")
    await eventually(lambda: upstream.open_streams == 1)
    with pytest.raises(StorageError):
        await hub.delete(session.conversation.id)
    await eventually(lambda: [m.text for m in session.conversation.transcript][-1:] == ["fine"])
    await hub.close()


async def test_a_session_deleted_twice_at_once_is_deleted_once(hub: Hub) -> None:
    session = hub.new()
    await ask(session, "Hello?", "c1")
    outcomes = await asyncio.gather(
        hub.delete(session.conversation.id), hub.delete(session.conversation.id), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes].count(FrameRefusedError) <= 1
    with pytest.raises(FrameRefusedError):
        await hub.get(session.conversation.id)


async def test_a_prompt_that_comes_while_the_hub_closes_is_told_to_come_back(hub: Hub) -> None:
    session = hub.new()
    await hub.close()
    with pytest.raises(DatabaseClosedError, match="stopping"):
        await ask(session, "Hello?", "c1")
    with pytest.raises(DatabaseClosedError, match="stopping"):
        await ask(hub.new(), "Hello?", "c1")


class BrokenProvider(Provider):
    """Has a fault of its own."""

    async def answer(self, question: Question) -> AsyncGenerator[AnswerEvent]:
        yield AnswerText("so far")
        raise ZeroDivisionError


async def test_a_fault_of_ours_ends_the_turn_with_its_text_and_the_queue_goes_on(services: Services) -> None:
    hub = Hub(replace(services, provider=BrokenProvider("", "")), "epoch-1")
    session = hub.new()
    await ask(session, "first", "c1")
    await ask(session, "second", "c2")
    answers = [("so far", "error"), ("so far", "error")]
    transcript = session.conversation.transcript
    await eventually(lambda: [(m.text, m.status) for m in transcript if m.role == "assistant"] == answers)
    assert "ZeroDivisionError" in str(next(m.error for m in transcript if m.role == "assistant"))
    await hub.close()


async def test_what_a_failed_write_left_unfinished_is_shown_as_interrupted(
    hub: Hub, services: Services
) -> None:
    message = Message(id="p1", role="user", text="a", html=[], status="queued", created_at=0.0)
    reply = Message(
        id="a1", role="assistant", text="", html=[], status="running", created_at=0.0, parent_id="p1"
    )
    waiting = Message(
        id="p2", role="user", text="b", html=[], status="queued", created_at=0.0, parent_id="p1"
    )
    await services.store.add_prompt("s1", "Title", message)
    await services.store.add_prompt("s1", "Title", waiting)
    await services.store.begin_answer("s1", reply)
    rendering = services.rendering
    assert isinstance(rendering, SlowRendering)
    rendering.go.set()
    session = await hub.get("s1")
    shown = [(m.id, m.status, m.error) for m in session.conversation.transcript]
    assert shown == [("p1", "done", None), ("a1", "interrupted", None), ("p2", "interrupted", NEVER_ASKED)]


async def test_the_hub_closes_even_when_the_disk_fails(
    services: Services, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise StorageError("no")

    never = asyncio.Event()
    upstream.scripts = [["partial", never.wait]]  # type: ignore[list-item]
    monkeypatch.setattr(services.store, "interrupt_unfinished", fail)
    hub = Hub(services, "epoch-1")
    session = hub.new()
    await ask(session, "Hello?", "c1")
    await eventually(lambda: upstream.open_streams == 1)
    await hub.close()
    assert [m.status for m in session.conversation.transcript] == ["done", "interrupted"]


async def test_a_turn_stopped_before_it_has_asked_asks_nothing(hub: Hub, upstream: Upstream) -> None:
    session = hub.new()
    await ask(session, "Hello?", "c1")
    await asyncio.sleep(0)
    session.abort()
    await eventually(lambda: not session.running)
    assert [m.status for m in session.conversation.transcript] == ["done", "aborted"]
    assert upstream.requests == []
