"""The core's end of the socketpair."""

import logging
import os
import queue
import socket
import threading

from fireside import framing, wire

log = logging.getLogger(__name__)


class Channel:
    """Reads requests on a thread of its own, so that the app's death is noticed in the middle of a step.

    Args:
        sock: the connected end of the socketpair; owned by the channel from now on.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._inbox: queue.SimpleQueue[wire.Down] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="channel", daemon=True).start()

    def receive(self) -> wire.Down:
        """The next request; waits for it."""
        return self._inbox.get()

    def wait(self, seconds: float | None) -> list[wire.Down]:
        """The next request, once there is one; none if that takes longer than so many seconds."""
        try:
            return [self._inbox.get(timeout=seconds)]
        except queue.Empty:
            return []

    def drain(self) -> list[wire.Down]:
        """All requests that are here already."""
        requests: list[wire.Down] = []
        while True:
            try:
                requests.append(self._inbox.get_nowait())
            except queue.Empty:
                return requests

    def send(self, message: wire.Up) -> None:
        """Report to the app; waits while the app is behind."""
        try:
            self._sock.sendall(framing.pack(message))
        except OSError:
            _leave()

    def _read(self) -> None:
        try:
            with self._sock.makefile("rb") as stream:
                while header := stream.read(framing.HEADER_SIZE):
                    self._inbox.put(framing.unpack_down(stream.read(framing.frame_length(header))))
        except OSError:
            pass  # a reset socket means the same as its end: the app is gone
        except framing.WireError:
            log.exception("the app broke the protocol")
        finally:
            _leave()


def _leave() -> None:
    """End at once: without the app nobody wants the result, and a step cannot be interrupted."""
    os._exit(0)
