"""Waiting for what must not be left half done."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def to_the_end(work: Awaitable[T]) -> T:
    """Await all of `work`, even where the caller is cancelled meanwhile.

    Raises:
        CancelledError: once the work is done, if the caller was cancelled.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        task.exception()  # has been looked at; the cancellation goes first
        raise asyncio.CancelledError
    return task.result()
