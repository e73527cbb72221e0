"""Markdown rendering beside the event loop, so that a huge text does not hold up the sockets."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from fireside_agent.markdown import render_blocks
from fireside_agent.markdown_stream import Change, StreamRenderer
from fireside_agent.messages import Message

T = TypeVar("T")

NEWEST = 50
"""Messages; several windows full, however short they are."""

ENOUGH = 12_000
"""Characters; several windows full, however few messages they are."""

THREADS = 2
"""So that one pathological text cannot hold up every other chat."""


class Rendering:
    """A few threads that render. Unusable after `close`."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="fireside-markdown")
        # The parsers take a while to import: before anybody waits for them.
        self._threads.submit(render_blocks, "$a$")

    async def blocks(self, text: str) -> list[str]:
        return await self._run(lambda: render_blocks(text))

    async def feed(self, renderer: StreamRenderer, delta: str) -> Change | None:
        """`renderer` must not be touched until this returns, nor afterwards if it was cancelled."""
        return await self._run(lambda: renderer.feed(delta))

    async def texts(self, texts: Mapping[str, str]) -> dict[str, list[str]]:
        """The blocks of each text, under its key."""
        return await self._run(lambda: {key: render_blocks(text) for key, text in texts.items()})

    async def messages(self, messages: list[Message], leaf_id: str | None) -> list[Message]:
        """The messages, the newest ones of the branch that ends with `leaf_id` with their `html`.

        What a reader sees first has it, and what still changes. The others are rendered when they are asked
        for: all of a long chat would take longer than opening it may.
        """
        return await self._run(lambda: _with_newest_rendered(messages, leaf_id))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._threads.submit(work))


def _with_newest_rendered(messages: list[Message], leaf_id: str | None) -> list[Message]:
    known = {message.id: message for message in messages}
    newest: set[str] = set()
    characters = 0
    cursor = leaf_id if leaf_id in known else next(reversed(known), None)
    while cursor is not None and len(newest) < NEWEST and characters < ENOUGH:
        newest.add(cursor)
        characters += len(known[cursor].text)
        cursor = known[cursor].parent_id

    def html(message: Message) -> list[str] | None:
        seen = message.id in newest or message.status in ("queued", "running")
        return render_blocks(message.text) if seen or not message.text else None

    return [msgspec.structs.replace(message, html=html(message)) for message in messages]
