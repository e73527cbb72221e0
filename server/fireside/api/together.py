"""Several answers that are made at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


async def begin(streams: Sequence[AsyncGenerator[T, None]]) -> None:
    """Take the first item of each, in order. If one of them raises, all are closed: all of them or none."""
    try:
        for stream in streams:
            await anext(stream)
    except BaseException:
        await _close(streams)
        raise


@asynccontextmanager
async def together(
    streams: Sequence[AsyncGenerator[T, None]],
) -> AsyncGenerator[AsyncGenerator[tuple[int, T], None]]:
    """The items of several streams as they come, each with the number of its stream.

    The first stream that raises ends them all, with what it raised. Leaving closes them all.
    """
    if len(streams) == 1:
        async with aclosing(streams[0]) as stream, aclosing(_numbered(stream)) as items:
            yield items
        return
    arrived: asyncio.Queue[tuple[int, T] | asyncio.Task[None]] = asyncio.Queue()

    async def read(number: int, stream: AsyncGenerator[T, None]) -> None:
        async for item in stream:
            arrived.put_nowait((number, item))

    readers = [asyncio.create_task(read(number, stream)) for number, stream in enumerate(streams)]
    for reader in readers:
        reader.add_done_callback(arrived.put_nowait)
    try:
        async with aclosing(_items(arrived, len(readers))) as items:
            yield items
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        await _close(streams)


async def _numbered(stream: AsyncGenerator[T, None]) -> AsyncGenerator[tuple[int, T], None]:
    async for item in stream:
        yield 0, item


async def _items(
    arrived: asyncio.Queue[tuple[int, T] | asyncio.Task[None]], running: int
) -> AsyncGenerator[tuple[int, T], None]:
    while running:
        item = await arrived.get()
        if isinstance(item, asyncio.Task):
            item.result()
            running -= 1
        else:
            yield item


async def _close(streams: Sequence[AsyncGenerator[T, None]]) -> None:
    for stream in streams:
        await stream.aclose()
