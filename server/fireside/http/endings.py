"""What lasts ends with the key or the session that opened it: sockets, and answers that are streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from fireside.http.headers import header

POLICY_VIOLATION = 1008
"""How a socket is closed that may stay open no longer; the page shows the way to log in then."""


class Endings:
    """Tells whoever listens that a key or a session has ended, not which."""

    def __init__(self) -> None:
        self._listeners: set[Callable[[], None]] = set()

    def tell(self) -> None:
        """A key or a session is good no more."""
        for listener in tuple(self._listeners):
            listener()

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Generator[None]:
        """The listener is called at each ending as long as this lasts."""
        self._listeners.add(listener)
        try:
            yield
        finally:
            self._listeners.discard(listener)


class Lasting:
    """A request whose socket or streamed answer is cut off when it may go on no longer.

    To the app it looks as if the client had left. An answer of a known length is given whole: the one to a
    logout is under way when its session ends.

    Args:
        may_go_on: whether what the request showed is still good.
    """

    def __init__(self, scope: Any, receive: Any, send: Any, may_go_on: Callable[[], bool]) -> None:
        self._is_socket = scope["type"] == "websocket"
        self._receive = receive
        self._send = send
        self._may_go_on = may_go_on
        self._lasts = self._is_socket
        self._ended = asyncio.get_running_loop().create_future()

    def look(self) -> None:
        """Find out whether it may go on."""
        if self._lasts and not self._ended.done() and not self._may_go_on():
            self._ended.set_result(None)

    async def receive(self) -> Any:
        """What the client sends next, or that it has gone."""
        coming = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({coming, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            coming.cancel()
        self.look()  # a session ends with its time, too, of which nobody tells
        if self._ended.done():
            return {"type": "websocket.disconnect" if self._is_socket else "http.disconnect"}
        return coming.result()

    async def send(self, event: Any) -> None:
        """Pass on what the app sends."""
        if event["type"] == "http.response.start" and _is_streamed(event):
            self._lasts = True
            self.look()
        if not self._ended.done():
            await self._send(event)

    async def close(self) -> None:
        """Say goodbye when the app is done; an answer is cut off by saying nothing."""
        if self._is_socket and self._ended.done():
            await self._send({"type": "websocket.close", "code": POLICY_VIOLATION})


def _is_streamed(start: Any) -> bool:
    """Whether it is open how long an answer gets."""
    return start["status"] != 204 and not list(header(start, b"content-length"))
