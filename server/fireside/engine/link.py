"""One core process and the socket to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence

from fireside import framing, wire

_SOCKET_BUFFER = 1 << 20
_TUNABLES = "GLIBC_TUNABLES"
_HUGE_PAGES = "glibc.malloc.hugetlb"


def how(status: int) -> str:
    """A core's exit status in words; negative for a signal."""
    if status >= 0:
        return f"status {status}"
    return signal.strsignal(-status) or f"signal {-status}"


def core_environment(own: Mapping[str, str]) -> dict[str, str]:
    """A core's environment: its heap is in huge pages, where the C library is glibc and knows how.

    A step allocates tens of thousands of small things, and once kernels have been compiled the heap is large
    and in disorder: on an H200's host, what a step costs the CPU falls by a seventh. A setting of the user's
    stays.
    """
    tunables = own.get(_TUNABLES, "")
    if _HUGE_PAGES in tunables:
        return dict(own)
    return {**own, _TUNABLES: ":".join(filter(None, [tunables, f"{_HUGE_PAGES}=1"]))}


class CoreLink:
    """A running core. Use `spawn`; `reports` ends when the core does, however it ends.

    The core is in a session of its own, so that a Ctrl-C in the terminal reaches only the app, and it
    ends by itself when its end of the socket closes, so that it never outlives the app.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._vocabulary = b""

    @classmethod
    async def spawn(cls, command: Sequence[str], start: wire.Start) -> CoreLink:
        """Start a core and tell it what to load. The socket's number is added to `command`."""
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BUFFER)
        try:
            # Forking takes a millisecond, and a Popen can be killed from any thread.
            process = subprocess.Popen(  # noqa: ASYNC220
                [*command, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=core_environment(os.environ),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            # Whoever ends the engine just now must not leave a core that nobody collects.
            ours.close()
            process.kill()
            process.wait()
            raise
        link = cls(process, reader, writer)
        link.send(start)
        return link

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: wire.Down) -> None:
        """Tell the core; a core that is gone is noticed by `reports`."""
        if not self._writer.is_closing():
            self._writer.write(framing.pack(message))

    def submit(self, row: wire.Submit, vocabulary: bytes) -> None:
        """Tell the core of a row, and before the first with a grammar of the vocabulary it is made for."""
        if vocabulary and vocabulary != self._vocabulary:
            self._vocabulary = vocabulary
            self.send(wire.Vocabulary(vocabulary))
        self.send(row)

    async def reports(self) -> AsyncIterator[wire.Up]:
        """What the core reports, until it is gone.

        Raises:
            framing.WireError: the core wrote something else.
        """
        while True:
            try:
                header = await self._reader.readexactly(framing.HEADER_SIZE)
                body = await self._reader.readexactly(framing.frame_length(header))
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            yield framing.unpack_up(body)

    def kill(self) -> None:
        """End the core without waiting for it."""
        self._process.kill()

    async def close(self) -> int:
        """End the core at once and collect it. Returns its exit status, negative for a signal."""
        self._writer.close()
        self.kill()
        return await asyncio.to_thread(self._process.wait)
