"""Server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from quart import Response

_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_COMMENT = b": keep-alive\n\n"


def event(data: bytes) -> bytes:
    """One event whose data is a single line, as JSON is."""
    return b"data: " + data + b"\n\n"


def stream_response(events: AsyncIterator[bytes], keep_alive_s: float | None = None) -> Response:
    """An endless answer: no response timeout, no buffering.

    Args:
        keep_alive_s: send a comment after so long a silence, so that proxies keep the line open.
    """
    body = events if keep_alive_s is None else keep_alive(events, keep_alive_s)
    response = Response(body, content_type="text/event-stream", headers=_HEADERS)
    response.timeout = None
    return response


async def keep_alive(events: AsyncIterator[bytes], silence_s: float) -> AsyncIterator[bytes]:
    """Pass events on, with a comment in every silence. Closes `events` when it is closed itself."""
    pending: asyncio.Task[bytes] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({pending}, timeout=silence_s)
            if not done:
                yield _COMMENT
                continue
            task, pending = pending, None
            try:
                item = task.result()
            except StopAsyncIteration:
                return
            yield item
    finally:
        if pending is not None:
            pending.cancel()
            await asyncio.wait({pending})
        await events.aclose()  # type: ignore[attr-defined]
