"""Sockets that come back, several sockets, slow sockets."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from agent.harness import Client, Served, eventually, served_agent
from agent.scripted import Upstream
from fireside_agent import outbox
from fireside_agent.conversation import Conversation, Facts
from fireside_agent.hub import Hub
from fireside_agent.outbox import Outbox
from fireside_agent.protocol import TextDelta
from fireside_agent.replay import ReplayRing
from fireside_agent.transcript import Transcript


async def short_pause() -> None:
    await asyncio.sleep(0.04)


async def test_a_lost_socket_misses_nothing_and_gets_nothing_twice(
    served: Served, upstream: Upstream
) -> None:
    upstream.scripts = [[step for i in range(12) for step in (f"w{i} ", short_pause)]]
    async with served.client() as witness:
        await witness.new_session()
        await witness.ask("Count!")
        await witness.until("turn_start")
        # Clients count frames by themselves: one that is missed or comes twice fails in `Client`.
        async with served.client() as returning:
            await (await returning.open(witness.session_id)).until("history")
        while not any(frame["type"] == "turn_end" for frame in returning.frames):
            async with served.client() as next_socket:
                returning.socket = next_socket.socket
                await returning.open(witness.session_id, returning.epoch, returning.seq)
                for _ in range(2):
                    if (await returning.next())["type"] == "turn_end":
                        break
        await witness.until("turn_end")
    assert len(returning.of("history")) == 1
    assert returning.messages == witness.messages
    assert len(upstream.requests) == 1


async def test_another_epoch_gets_the_whole_session(served: Served, client: Client) -> None:
    await client.ask("Hello?")
    await client.until("turn_end")
    async with served.client() as other:
        await other.open(client.session_id, "an earlier run", client.seq)
        history = await other.until("history")
    assert (history["epoch"], history["seq"]) == ("epoch-1", client.seq)
    assert {m["id"]: m for m in history["messages"]} == client.messages


async def test_frames_from_the_future_get_the_whole_session(served: Served, client: Client) -> None:
    async with served.client() as other:
        await other.open(client.session_id, other.epoch, client.seq + 5)
        assert (await other.until("history"))["seq"] == client.seq


async def test_a_client_that_has_had_nothing_gets_the_whole_session(
    upstream: Upstream, database_path: Path
) -> None:
    async with served_agent(database_path, upstream.base_url, "first") as served, served.client() as client:
        await client.new_session()
        await client.ask("Hello?")
        await client.until("turn_end")
    async with served_agent(database_path, upstream.base_url, "second") as served, served.client() as again:
        await again.open(client.session_id, "second", 0)
        assert len((await again.until("history"))["messages"]) == 2


async def test_a_client_that_is_up_to_date_gets_only_what_comes(served: Served, client: Client) -> None:
    await client.ask("Hello?")
    await client.until("turn_end")
    async with served.client() as other:
        other.seq = client.seq
        await other.open(client.session_id, other.epoch, client.seq)
        await client.ask("Again?")
        await other.until("turn_end")
        assert other.of("history") == []


async def test_two_sockets_on_one_session_see_the_same(served: Served, client: Client) -> None:
    async with served.client() as other:
        await (await other.open(client.session_id)).until("history")
        await client.ask("Hello?")
        await asyncio.gather(client.until("turn_end"), other.until("turn_end"))
        await other.ask("Again?")
        await asyncio.gather(client.until("turn_end"), other.until("turn_end"))

        def session_frames(one: Client) -> list[object]:
            return [frame for frame in one.frames if "seq" in frame and frame["type"] != "history"]

        assert session_frames(client) == session_frames(other)


async def test_opening_another_session_ends_following_the_first(served: Served, client: Client) -> None:
    async with served.client() as other:
        await other.new_session()
        await other.open(client.session_id)
        await other.until("history")
        first = next(frame for frame in other.frames if frame["type"] == "history")["session_id"]
        assert first != client.session_id
        await client.ask("Hello?")
        await other.until("turn_end")


async def test_a_session_is_the_same_after_a_restart(upstream: Upstream, database_path: Path) -> None:
    async with served_agent(database_path, upstream.base_url, "first") as served, served.client() as client:
        await client.new_session()
        await client.ask("Hello?")
        await client.until("turn_end")
        before, session_id, seq = client.messages, client.session_id, client.seq
    async with served_agent(database_path, upstream.base_url, "second") as served, served.client() as client:
        await client.open(session_id, "first", seq)
        history = await client.until("history")
    assert history["messages"] == list(before.values())
    assert history["epoch"] == "second"


async def test_idle_sessions_leave_memory_and_come_back_with_higher_numbers(
    upstream: Upstream, database_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fireside_agent.agent.Hub", partial(Hub, idle_seconds=0.05))
    async with served_agent(database_path, upstream.base_url) as served:
        async with served.client() as client:
            await client.new_session()
            await client.ask("Hello?")
            await client.until("turn_end")
            await asyncio.sleep(0.2)
            assert served.agent.hub.live == {client.session_id}
        await eventually(lambda: not served.agent.hub.live)
        async with served.client() as again:
            again.seq = client.seq
            await again.open(client.session_id, again.epoch, client.seq)
            await again.ask("Again?")
            await again.until("turn_end")
            assert again.of("history") == []


def make_conversation() -> Conversation:
    return Conversation("s1", "e1", Transcript(), Facts("A title"), 0)


def emit(conversation: Conversation, text: str) -> None:
    conversation.emit(lambda seq: TextDelta(session_id="s1", seq=seq, message_id="m1", text=text))


async def drain(box: Outbox) -> list[str]:
    box.close()
    frames: list[str] = []
    while (frame := await box.next()) is not None:
        frames.append(frame)
    return frames


async def test_a_reader_that_is_too_slow_gets_the_whole_session_instead() -> None:
    conversation, box = make_conversation(), Outbox()
    box.follow(conversation, [])
    for _ in range(outbox.MAX_FRAMES + 10):
        emit(conversation, "x")
    first = await box.next()
    emit(conversation, "after")
    second = await box.next()
    assert first is not None
    assert second is not None
    assert f'"type":"history","session_id":"s1","epoch":"e1","seq":{outbox.MAX_FRAMES + 10}' in first
    assert f'"seq":{outbox.MAX_FRAMES + 11}' in second


async def test_what_waits_for_a_slow_reader_is_bounded_in_size() -> None:
    conversation, box = make_conversation(), Outbox()
    box.follow(conversation, [])
    for _ in range(10):
        emit(conversation, "x" * (outbox.MAX_BYTES // 5))
    frames = await drain(box)
    assert sum(map(len, frames)) <= outbox.MAX_BYTES


async def test_a_reader_that_does_not_take_its_replies_is_cut_off() -> None:
    box = Outbox()
    for _ in range(outbox.MAX_REPLIES + 1):
        box.reply("{}")
    assert await box.next() is None


async def test_only_the_latest_list_waits() -> None:
    box = Outbox()
    box.latest("sessions", "old")
    box.latest("sessions", "new")
    assert await drain(box) == ["new"]


def test_the_replay_ring_gives_exactly_what_was_missed_while_it_has_it() -> None:
    ring = ReplayRing(seq=5, max_frames=3)
    for name in ("six", "seven", "eight", "nine"):
        ring.append(name)
    assert ring.after(9) == []
    assert ring.after(7) == ["eight", "nine"]
    assert ring.after(6) == ["seven", "eight", "nine"]
    assert ring.after(5) is None
    assert ring.after(10) is None


def test_the_replay_ring_is_bounded_in_bytes() -> None:
    ring = ReplayRing(seq=0, max_bytes=10)
    for frame in ("äää", "ööö"):
        ring.append(frame)
    assert ring.after(1) == ["ööö"]
    assert ring.after(0) is None
