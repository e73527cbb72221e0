"""The time limit of a search."""

from time import monotonic


class Limit:
    """How long a search may go on. `stop` may be called from another thread."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = float("inf")
        self.stopped = False

    def begin(self) -> None:
        """The time starts now."""
        self._deadline = monotonic() + self._seconds

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self.stopped = True

    @property
    def over(self) -> bool:
        """Whether to end it; also SQLite's progress handler."""
        return self.stopped or monotonic() > self._deadline
