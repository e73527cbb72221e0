"""A client of `/ws` that reads frames as the page does."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from support.server import Server

Frame = dict[str, Any]

LONG = "Count to 5000."
"""A request that `pocket` answers until its context is full, which takes it many seconds."""


class Chat:
    """One socket. Every frame that came is kept in `frames`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.frames: list[Frame] = []
        self.epoch: str = self.until(lambda f: f["type"] == "hello")["epoch"]

    def send(self, kind: str, **fields: Any) -> None:
        self._socket.send(json.dumps({"type": kind, **fields}))

    def next(self, timeout: float = 60) -> Frame:
        frame: Frame = json.loads(self._socket.recv(timeout))
        self.frames.append(frame)
        return frame

    def until(self, wanted: Callable[[Frame], bool], timeout: float = 120) -> Frame:
        """Read on up to the frame that is wanted."""
        deadline = time.monotonic() + timeout
        while True:
            frame = self.next(max(0.01, deadline - time.monotonic()))
            if wanted(frame):
                return frame

    def new_session(self) -> str:
        self.send("new_session")
        return str(self.until(lambda f: f["type"] == "history")["session_id"])

    def open(self, session_id: str, epoch: str = "", after_seq: int = 0) -> None:
        self.send("open_session", id=session_id, epoch=epoch, after_seq=after_seq)

    def history(self, session_id: str) -> Frame:
        self.open(session_id)
        return self.until(lambda f: f["type"] == "history" and f["session_id"] == session_id)

    def prompt(self, session_id: str, text: str) -> str:
        client_id = uuid.uuid4().hex
        self.send("prompt", session_id=session_id, text=text, client_id=client_id)
        return client_id

    def turn_end(self, timeout: float = 120) -> Frame:
        return self.until(lambda f: f["type"] == "turn_end", timeout)

    def ask(self, session_id: str, text: str) -> Frame:
        """Ask and wait for the answer; returns the finished message."""
        self.prompt(session_id, text)
        message: Frame = self.turn_end()["message"]
        return message

    def streamed(self, message_id: str) -> str:
        """The text that has come for a message so far."""
        return "".join(
            f["text"] for f in self.frames if f["type"] == "text_delta" and f["message_id"] == message_id
        )


@contextmanager
def chatting(server: Server) -> Iterator[Chat]:
    with connect(server.url.replace("http", "ws", 1) + "/ws", max_size=None) as socket:
        yield Chat(socket)


def stop_all(server: Server) -> None:
    """Delete every chat, so that no answer goes on into the next test."""
    with chatting(server) as chat:
        chat.send("list_sessions")
        for row in chat.until(lambda f: f["type"] == "sessions")["sessions"]:
            chat.send("delete_session", id=row["id"])
            chat.until(lambda f, gone=row["id"]: f["type"] == "deleted" and f["session_id"] == gone)
