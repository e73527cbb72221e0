"""Markdown rendering beside the event loop, so that a huge text does not hold up the sockets."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from fireside_agent.markdown import render_blocks
from fireside_agent.markdown_stream import Change, StreamRenderer
from fireside_agent.messages import Message

T = TypeVar("T")

THREADS = 2
"""So that one pathological text cannot hold up every other chat."""


class Rendering:
    """A few threads that render. Unusable after `close`."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="fireside-markdown")

    async def blocks(self, text: str) -> list[str]:
        return await self._run(lambda: render_blocks(text))

    async def feed(self, renderer: StreamRenderer, delta: str) -> Change | None:
        """`renderer` must not be touched until this returns, nor afterwards if it was cancelled."""
        return await self._run(lambda: renderer.feed(delta))

    async def messages(self, messages: list[Message]) -> list[Message]:
        """The messages with their `html`."""
        return await self._run(
            lambda: [msgspec.structs.replace(m, html=render_blocks(m.text)) for m in messages]
        )

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._threads.submit(work))
