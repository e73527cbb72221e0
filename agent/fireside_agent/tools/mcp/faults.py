"""What becomes of a server that fails: in which words, and when it may be started again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from fireside_agent.errors import AgentError

STABLE_S = 60.0
"""A server that ran this long may be started again at once, whatever it did before."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds.

    Attributes:
        call_s: for one call of a tool, a start of its server included.
        start_s: for a start, and for listing the tools.
        pause_s: after a failed start; doubles with each, up to `longest_pause_s`.
    """

    call_s: float = 60
    start_s: float = 30
    pause_s: float = 1
    longest_pause_s: float = 300


class LostError(AgentError):
    """The server is gone, or cannot be talked to any more."""


class Pauses:
    """When a server may be started again, in the event loop's time."""

    def __init__(self, limits: Limits) -> None:
        self.over_at = 0.0
        self._limits = limits
        self._failures = 0

    def ended(self, now: float, ready_at: float | None) -> None:
        """It has failed after it was ready since `ready_at`, None for never.

        The first time that a server that was ready ends, it may start again at once.
        """
        if ready_at is not None and now - ready_at > STABLE_S:
            self._failures = 0
        if ready_at is None or self._failures:
            pause = self._limits.pause_s * 2 ** min(self._failures, 30)
            self.over_at = now + min(pause, self._limits.longest_pause_s)
        self._failures += 1


def explain(error: Exception) -> str:
    """In words, without a full stop; of several causes the one nearest to the system."""
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    causes = list(_causes(error))
    cause = next((cause for cause in causes if not isinstance(cause, MCPError)), causes[0])
    if isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED:
        return "it ended"
    return str(cause).rstrip(".") or type(cause).__name__


def _causes(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for part in cast(ExceptionGroup[Exception], error).exceptions:
            yield from _causes(part)
    else:
        yield error
