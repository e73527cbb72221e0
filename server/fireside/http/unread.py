"""An answer that comes before the request's body has been read still reaches its client.

Most clients send all of a body before they look for an answer. Hypercorn closes the connection as soon as
the answer is out; what is still on its way then is met with a reset, and the client may never see why it was
refused. Here the rest of the body is read and dropped first, as far as there is sense in that. After a large
one the connection closes, and the answer says so: a client that looks may save itself the rest.

Hypercorn has no setting for that: it is told so by the name `hypercorn.protocol.H11Protocol`, and by the
methods of `H11Protocol` that are replaced.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import h11
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.events import Response
from hypercorn.protocol.h11 import H11Protocol

_protocol: Any = importlib.import_module("hypercorn.protocol")
"""Untyped, since Hypercorn does not export what is replaced in it."""

SMALL_BYTES = 64 * 1024
"""A body that is sent sooner than a connection is made anew."""

DROPPED_BYTES = 64 * 1024 * 1024
"""As much as a body may have; who sends more is cut off."""

DROPPING_S = 15.0
"""And who takes longer."""


class Protocol(H11Protocol):
    """HTTP/1.1 on one connection."""

    _is_small = False
    """Whether the body of the present request is known to be small."""

    _left = 0
    """How many bytes of an answered request are still read; 0 where none are."""

    async def stream_send(self, event: StreamEvent) -> None:
        """Take what the app answers."""
        if isinstance(event, Response) and self._is_unread and not self._is_small:
            event = replace(event, headers=[*event.headers, (b"connection", b"close")])
        await super().stream_send(event)

    async def handle(self, event: Event) -> None:
        """Take what the client sends."""
        if not self._left or not isinstance(event, RawData):
            await super().handle(event)
            return
        self.connection.receive_data(event.data)
        await self._drop()
        if self.connection.our_state is h11.IDLE:
            await self._handle_events()  # the next request may have come with the rest

    async def _create_stream(self, request: h11.Request) -> None:
        lengths = [int(value) for name, value in request.headers if name == b"content-length"]
        self._is_small = bool(lengths) and lengths[0] <= SMALL_BYTES
        await super()._create_stream(request)

    async def _maybe_recycle(self) -> None:
        """The answer is out, or the app has given up on it."""
        if self._is_unread and self.connection.our_state in (h11.DONE, h11.MUST_CLOSE):
            await self._close_stream()
            self._left = DROPPED_BYTES
            tasks: Any = self.task_group  # whose `spawn` is typed in part
            tasks.spawn(self._give_up, self.keep_alive_requests)
            await self.can_read.set()
            await self._drop()
        else:
            await super()._maybe_recycle()

    @property
    def _is_unread(self) -> bool:
        return self.connection.their_state is h11.SEND_BODY

    async def _drop(self) -> None:
        """Drop what has come. After the last of it the connection is used again, or closed as was said."""
        while isinstance(event := self._next(), h11.Data):
            self._left = max(0, self._left - len(event.data))
        if event is h11.NEED_DATA and self._left:
            return
        self._left = 0
        if isinstance(event, h11.EndOfMessage):
            await super()._maybe_recycle()
        else:
            await self.send(Closed())

    def _next(self) -> Any:
        try:
            return self.connection.next_event()
        except h11.RemoteProtocolError:
            return h11.ConnectionClosed()

    async def _give_up(self, request: int) -> None:
        """Close where the body of a request, by its number on the connection, does not come to its end."""
        await self.context.sleep(DROPPING_S)
        if self._left and self.keep_alive_requests == request:
            self._left = 0
            await self.send(Closed())


@contextmanager
def unread_bodies_dropped() -> Generator[None]:
    """Hypercorn speaks this protocol as long as this lasts."""
    original = _protocol.H11Protocol
    _protocol.H11Protocol = Protocol
    try:
        yield
    finally:
        _protocol.H11Protocol = original
