"""What one socket has yet to be sent: bounded, however slow its reader is."""

import asyncio
from collections import deque
from collections.abc import Iterable

from fireside_agent.conversation import Conversation

MAX_FRAMES = 2_000
MAX_BYTES = 8_000_000
MAX_REPLIES = 1_000


class Outbox:
    """Frames on their way to a socket, which follows one conversation at a time.

    A reader too slow for its session loses the waiting frames and gets the whole session instead. One
    that does not even take its replies is cut off.
    """

    def __init__(self) -> None:
        self.following: Conversation | None = None
        self._replies: deque[str] = deque()
        self._latest: dict[str, str] = {}
        self._frames: deque[str] = deque()
        self._characters = 0
        self._lost = False
        self._closed = False
        self._wake = asyncio.Event()

    def follow(self, conversation: Conversation, frames: Iterable[str]) -> None:
        """Follow this conversation in place of the one so far; `frames` bring the reader up to date."""
        self.unfollow()
        self._lost = False
        self.following = conversation
        for frame in frames:
            self.push(frame)
        conversation.followers.add(self)

    def unfollow(self) -> None:
        if self.following is not None:
            self.following.followers.discard(self)
            self.following = None

    def push(self, frame: str) -> None:
        """A frame of the followed conversation."""
        full = len(self._frames) >= MAX_FRAMES or self._characters + len(frame) > MAX_BYTES
        if self._frames and full:
            self._frames.clear()
            self._characters = 0
            self._lost = True
        if not self._lost:
            self._frames.append(frame)
            self._characters += len(frame)
        self._wake.set()

    def reply(self, frame: str) -> None:
        """A frame outside the conversation."""
        self._replies.append(frame)
        if len(self._replies) > MAX_REPLIES:
            self._replies.clear()
            self._frames.clear()
            self._closed = True
        self._wake.set()

    def latest(self, kind: str, frame: str) -> None:
        """A frame that makes a waiting one of its kind needless."""
        self._latest[kind] = frame
        self._wake.set()

    def close(self) -> None:
        """Nothing is added any more; what waits is still handed out."""
        self.unfollow()
        self._closed = True
        self._wake.set()

    async def next(self) -> str | None:
        """The next frame to send, or None when the outbox is closed and empty."""
        while (frame := self._take()) is None and not self._closed:
            self._wake.clear()
            await self._wake.wait()
        return frame

    def _take(self) -> str | None:
        if self._replies:
            return self._replies.popleft()
        if self._latest:
            return self._latest.pop(next(iter(self._latest)))
        if self._lost and self.following is not None:
            self._lost = False
            return self.following.history()
        if self._frames:
            frame = self._frames.popleft()
            self._characters -= len(frame)
            return frame
        return None
