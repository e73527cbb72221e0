"""The last frames of a session, for clients that lost their socket for a moment."""

from collections import deque

MAX_FRAMES = 10_000
MAX_BYTES = 4_000_000


class ReplayRing:
    """Encoded frames with consecutive numbers, the oldest dropped when there are too many."""

    def __init__(self, seq: int, max_frames: int = MAX_FRAMES, max_bytes: int = MAX_BYTES) -> None:
        self.seq = seq
        """The number of the newest frame."""
        self._frames: deque[str] = deque()
        self._bytes = 0
        self._max_frames = max_frames
        self._max_bytes = max_bytes

    def append(self, frame: str) -> None:
        """Keep the frame with the number `seq + 1`."""
        self.seq += 1
        self._frames.append(frame)
        self._bytes += _size(frame)
        while len(self._frames) > self._max_frames or self._bytes > self._max_bytes:
            self._bytes -= _size(self._frames.popleft())

    def skip(self) -> None:
        """A number without a frame: nobody who was away before it can be brought up to date by frames."""
        self.seq += 1
        self._frames.clear()
        self._bytes = 0

    def after(self, seq: int) -> list[str] | None:
        """The frames after number `seq`, or None when some of them are gone or were never sent."""
        missed = self.seq - seq
        if not 0 <= missed <= len(self._frames):
            return None
        return list(self._frames)[len(self._frames) - missed :]


def _size(frame: str) -> int:
    return len(frame.encode())
