"""Which messages of a stored chat come rendered, and how the others are had."""

from __future__ import annotations

from pathlib import Path

from agent.harness import served_agent
from agent.scripted import Upstream
from fireside_agent.markdown import render_blocks
from fireside_agent.messages import Message
from fireside_agent.rendering import NEWEST
from fireside_agent.store.sessions import StoredSession

MESSAGES = NEWEST + 70


def chat() -> StoredSession:
    messages = [
        Message(
            id=f"m{number}",
            role="assistant" if number % 2 else "user",
            text=f"*Text* of {number}" if number != 1 else "",
            html=[],
            status="done",
            created_at=1_700_000_000.0 + number,
            parent_id=f"m{number - 1}" if number else None,
        )
        for number in range(MESSAGES)
    ]
    return StoredSession("long", "Long", messages, messages[-1].id)


async def test_a_long_chat_brings_its_newest_messages_rendered_and_the_others_when_asked(
    upstream: Upstream, database_path: Path
) -> None:
    async with served_agent(database_path, upstream.base_url) as served:
        await served.agent.services.store.copy(chat())
        async with served.client() as client:
            await (await client.open("long")).until("history")
            html = {number: client.messages[f"m{number}"]["html"] for number in range(MESSAGES)}
            unrendered = [number for number, blocks in html.items() if blocks is None]
            assert unrendered == [0, *range(2, MESSAGES - NEWEST)]
            assert html[MESSAGES - 1] == render_blocks(f"*Text* of {MESSAGES - 1}")
            wanted = ["m0", "m3", f"m{MESSAGES - 1}", "nobody"]
            await client.send("render", session_id="long", message_ids=wanted)
            made = (await client.until("rendered"))["html"]
            assert list(made) == wanted[:-1]
            assert made["m3"] == render_blocks("*Text* of 3")
            await client.send("render", session_id="long", message_ids=["m0"] * 101)
            assert (await client.until("error"))["code"] == "invalid_frame"
