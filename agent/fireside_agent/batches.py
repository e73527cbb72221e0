"""A fast stream of small things read as a slower stream of handfuls."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")


async def batches(source: AsyncGenerator[T], pause: Callable[[], float]) -> AsyncGenerator[list[T]]:
    """Yield what `source` has given since the last time, with `pause()` seconds between two batches.

    The first item comes at once. An exception of the source is raised after the items before it.
    Closing this generator closes the source.
    """
    items: list[T] = []
    news = asyncio.Event()

    async def pump() -> None:
        async with aclosing(source):
            async for item in source:
                items.append(item)
                news.set()

    pumping = asyncio.create_task(pump())
    pumping.add_done_callback(lambda _: news.set())
    try:
        while items or not pumping.done():
            if not items:
                news.clear()
                await news.wait()
                continue
            batch = items.copy()
            items.clear()
            yield batch
            await asyncio.wait({pumping}, timeout=pause())
        await pumping
    finally:
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)
