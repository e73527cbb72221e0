"""Server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from quart import Response

_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_COMMENT = b": keep-alive\n\n"
_MOST_WAITING = 64 * 1024
_SHORTEST_S = 0.02
"""Between two pieces: what no screen shows apart."""

KEEP_ALIVE_S = 10.0
"""A silence that proxies and clients bear; a long prompt makes longer ones."""


def event(data: bytes, name: str | None = None) -> bytes:
    """One event whose data is a single line, as JSON is."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + data + b"\n\n"


DONE = event(b"[DONE]")
"""What OpenAI's streams end with."""


def stream_response(
    events: AsyncIterator[bytes], keep_alive_s: float | None = None, filler: bytes = _COMMENT
) -> Response:
    """An endless answer: no response timeout, no buffering.

    Args:
        keep_alive_s: send the filler after so long a silence, so that proxies keep the line open.
        filler: what means nothing; a comment unless the protocol has an event for it.
    """
    body = events if keep_alive_s is None else keep_alive(events, keep_alive_s, filler)
    response = Response(body, content_type="text/event-stream", headers=_HEADERS)
    response.timeout = None
    return response


async def keep_alive(
    events: AsyncIterator[bytes], silence_s: float, filler: bytes = _COMMENT
) -> AsyncIterator[bytes]:
    """Pass events on, with the filler in every silence. Closes `events` when it is closed itself.

    Events that follow one another quickly are sent as one piece: sending costs more than making them.
    """
    arrived = _Arrived()
    reader = asyncio.create_task(arrived.read(events))
    clock = asyncio.get_running_loop().time
    sent = -_SHORTEST_S
    try:
        while True:
            early = sent + _SHORTEST_S - clock()
            if early > 0 and not reader.done():
                await asyncio.wait({reader}, timeout=early)
            if piece := arrived.take():
                sent = clock()
                yield piece
            elif reader.done():
                reader.result()
                return
            elif not await arrived.within(silence_s):
                yield filler
    finally:
        reader.cancel()
        await asyncio.wait({reader})
        await events.aclose()  # type: ignore[attr-defined]


class _Arrived:
    """Events that wait to be sent; a client that does not read stops whoever makes them."""

    def __init__(self) -> None:
        self._events: list[bytes] = []
        self._bytes = 0
        self._some = asyncio.Event()
        self._room = asyncio.Event()

    async def read(self, events: AsyncIterator[bytes]) -> None:
        try:
            async for event in events:
                self._events.append(event)
                self._bytes += len(event)
                self._some.set()
                while self._bytes > _MOST_WAITING:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._some.set()

    async def within(self, seconds: float) -> bool:
        """Whether an event, or the end, comes in so long a time."""
        if not self._some.is_set():
            try:
                async with asyncio.timeout(seconds):
                    await self._some.wait()
            except TimeoutError:
                return False
        self._some.clear()
        return True

    def take(self) -> bytes:
        """All events that wait."""
        events, self._events, self._bytes = self._events, [], 0
        self._room.set()
        return b"".join(events)
