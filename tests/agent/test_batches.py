"""A fast stream read in handfuls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from fireside_agent.batches import batches


async def numbers(count: int) -> AsyncGenerator[int]:
    for number in range(count):
        yield number


async def test_every_item_comes_once_and_in_order() -> None:
    got = [batch async for batch in batches(numbers(100), lambda: 0.0)]
    assert [item for batch in got for item in batch] == list(range(100))


async def test_items_that_come_during_the_pause_come_together() -> None:
    async def slow() -> AsyncGenerator[int]:
        yield 0
        await asyncio.sleep(0)
        yield 1
        yield 2
        await asyncio.sleep(0.15)
        yield 3

    assert [batch async for batch in batches(slow(), lambda: 0.05)] == [[0], [1, 2], [3]]


async def test_an_error_comes_after_the_items_before_it() -> None:
    async def broken() -> AsyncGenerator[int]:
        yield 1
        raise ZeroDivisionError

    stream = batches(broken(), lambda: 10.0)
    assert await anext(stream) == [1]
    with pytest.raises(ZeroDivisionError):
        await anext(stream)


async def test_closing_closes_the_source() -> None:
    closed = False

    async def endless() -> AsyncGenerator[int]:
        nonlocal closed
        try:
            while True:
                yield 1
                await asyncio.sleep(0.001)
        finally:
            closed = True

    async with aclosing(batches(endless(), lambda: 0.0)) as stream:
        async for _ in stream:
            break
    assert closed
