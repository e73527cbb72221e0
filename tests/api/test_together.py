"""Several streams read at the same time."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from fireside.api.together import begin, together
from fireside.http.errors import TooBusy


class Streams:
    """Streams of numbers, and which of them were closed."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    async def count(self, name: str, to: int, fails: Exception | None = None) -> AsyncGenerator[int, None]:
        try:
            for number in range(to):
                await asyncio.sleep(0)
                yield number
            if fails is not None:
                raise fails
        finally:
            self.closed.append(name)


async def test_items_come_as_they_are_made_each_with_its_number() -> None:
    streams = Streams()
    async with together([streams.count("a", 3), streams.count("b", 5)]) as items:
        seen = [item async for item in items]
    assert [number for index, number in seen if index == 0] == [0, 1, 2]
    assert [number for index, number in seen if index == 1] == [0, 1, 2, 3, 4]
    assert [index for index, _ in seen] != sorted(index for index, _ in seen)
    assert sorted(streams.closed) == ["a", "b"]


async def test_the_first_that_raises_ends_them_all() -> None:
    streams = Streams()
    seen: list[tuple[int, int]] = []

    async def read() -> None:
        endless = streams.count("endless", 1_000_000)
        async with together([endless, streams.count("broken", 2, ValueError("no"))]) as items:
            while True:
                seen.append(await anext(items))

    with pytest.raises(ValueError, match="no"):
        await read()
    assert (1, 1) in seen
    assert sorted(streams.closed) == ["broken", "endless"]


async def test_leaving_early_closes_them_all_the_unread_too() -> None:
    streams = Streams()
    made = [streams.count("a", 9), streams.count("b", 9)]
    await begin(made)
    async with together(made) as items:
        await anext(items)
    unread = [streams.count("c", 9), streams.count("d", 9)]
    await begin(unread)
    async with together(unread):
        pass
    assert sorted(streams.closed) == ["a", "b", "c", "d"]


async def test_if_one_is_refused_at_the_beginning_none_goes_on() -> None:
    streams = Streams()
    made = [streams.count("a", 9), streams.count("refused", 0, TooBusy("full")), streams.count("c", 9)]
    with pytest.raises(TooBusy):
        await begin(made)
    assert sorted(streams.closed) == ["a", "refused"]


async def test_cancelling_the_reader_closes_them_all() -> None:
    streams = Streams()

    async def read() -> None:
        async with together([streams.count("a", 1_000_000), streams.count("b", 1_000_000)]) as items:
            async for _ in items:
                pass

    reader = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert sorted(streams.closed) == ["a", "b"]
