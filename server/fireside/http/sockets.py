"""WebSockets of clients on this machine go uncompressed.

Every browser offers to compress, and Hypercorn always takes that up. A long chat is megabytes: compressing
them takes a tenth of a second, on the event loop, sending them within a machine some milliseconds.
Hypercorn has no setting for that: it is told so by the name `hypercorn.protocol.h11.WSStream`.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hypercorn.protocol.events import Event, Request
from hypercorn.protocol.ws_stream import WSStream

from fireside.http.hosts import is_loopback

_h11: Any = importlib.import_module("hypercorn.protocol.h11")
"""Untyped, since Hypercorn does not export what is replaced in it."""

_OFFER = b"sec-websocket-extensions"
_PASSED_ON = frozenset({b"forwarded", b"x-forwarded-for"})
"""By a proxy on this machine, behind which the client may be far away."""


class Socket(WSStream):
    """One WebSocket; compressed as the client wishes, unless it is on this machine."""

    async def handle(self, event: Event) -> None:
        """Take what the client sends, its request first."""
        if isinstance(event, Request) and self._is_local(event):
            kept = [(name, value) for name, value in event.headers if name.lower() != _OFFER]
            event = replace(event, headers=kept)
        await super().handle(event)

    def _is_local(self, request: Request) -> bool:
        passed_on = any(name.lower() in _PASSED_ON for name, _ in request.headers)
        return self.client is not None and is_loopback(self.client[0]) and not passed_on


@contextmanager
def local_ones_uncompressed() -> Generator[None]:
    """Hypercorn makes sockets of this kind as long as this lasts."""
    original = _h11.WSStream
    _h11.WSStream = Socket
    try:
        yield
    finally:
        _h11.WSStream = original
