"""Hypercorn, but a client that has closed its end gives its socket back at once.

When nothing more comes from a client, Hypercorn's `TCPServer` waits for all tasks of the connection before
it closes the socket. One of them is the timer of idle connections, so that everybody who asks once and leaves
would hold a descriptor for `keep_alive_timeout`; another sleeps between two pings to a WebSocket, so that
each page that is open when Fireside stops would make it wait for `graceful_timeout`. Hypercorn has no setting
for that, and no way to hand it another `TCPServer`: what it is told here, it is told by the names
`hypercorn.asyncio.run.TCPServer`, `TCPServer._read_data`, `TCPServer.idle_task` and `WorkerContext.sleep`.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.config import Config
from hypercorn.events import Event, RawData, Updated

from fireside.http.sockets import local_ones_uncompressed
from fireside.http.unread import unread_bodies_dropped

_hypercorn: Any = importlib.import_module("hypercorn.asyncio")
"""Untyped, since Hypercorn does not export what is replaced in it."""

_SWITCHING = b"HTTP/1.1 101"


async def serve(app: Any, config: Config, shutdown_trigger: Callable[[], Awaitable[None]]) -> None:
    """Serve an ASGI app until the trigger returns."""
    with _as_tcp_server(Connection), local_ones_uncompressed(), unread_bodies_dropped():
        await _hypercorn.serve(app, config, shutdown_trigger=shutdown_trigger)


class Connection(TCPServer):
    """One connection; closed as soon as its client has nothing more to ask and its answer is out.

    A client may close its sending side only and still read: an answer that is under way keeps the socket.
    """

    _client_ended = False
    _switched = False

    async def run(self) -> None:
        """Serve the connection to its end."""
        self._ended = asyncio.Event()
        self.context = copy.copy(self.context)
        self.context.sleep = self._sleep
        await super().run()

    async def _sleep(self, wait: float) -> None:
        """What is done between two pings: it ends with the connection."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), wait)

    async def protocol_send(self, event: Event) -> None:
        """Take what the protocol sends: bytes, the end, or whether the connection is idle now."""
        if isinstance(event, RawData):
            if self.writer.is_closing():
                return  # the client is gone, and asyncio would complain of everything that is written now
            self._switched |= event.data.startswith(_SWITCHING)
        if isinstance(event, Updated) and event.idle and self._client_ended:
            return  # no request can follow, so that there is nothing to wait for
        await super().protocol_send(event)

    async def _read_data(self) -> None:
        await super()._read_data()
        self._client_ended = True
        self._ended.set()
        await self.idle_task.stop()
        if self._switched:
            # Neither WebSocket nor HTTP/2 goes on one way, and their tasks may sleep until the next ping.
            self.writer.close()


@contextmanager
def _as_tcp_server(connection: type[TCPServer]) -> Generator[None]:
    original = _hypercorn.run.TCPServer
    _hypercorn.run.TCPServer = connection
    try:
        yield
    finally:
        _hypercorn.run.TCPServer = original
