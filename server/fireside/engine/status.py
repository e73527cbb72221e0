"""What the engine is doing, for everybody who wants to see it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Literal

import msgspec

Phase = Literal[
    "starting",
    "importing",
    "preparing",
    "loading",
    "warming",
    "ready",
    "restarting",
    "switching",
    "idle",
    "failed",
    "stopping",
]
"""`switching`: another model is about to be served, and requests wait for it. `idle`: the model was stopped
because nobody asked it anything, and starts again with the next request."""
Mode = Literal["core", "upstream"]


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The served model as a client sees it."""

    id: str
    name: str
    note: str | None = None
    """What such a model can do, where that needs saying."""
    context_window: int | None = None
    """Tokens."""


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """The latest change of the served model."""

    to: str
    name: str
    state: Literal["draining", "loading", "returning", "done", "failed"]
    """`returning`: it failed, and the model from before is being started again."""
    error: str | None = None


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One state of the engine. Bytes are of the model being loaded, seconds since the phase began."""

    phase: Phase = "starting"
    detail: str = "Starting"
    model: ModelInfo | None = None
    bytes_done: int = 0
    bytes_total: int = 0
    seconds: float = 0.0
    restarts: int = 0
    rows: int = 0
    queued: int = 0
    error: str | None = None
    switch: Switch | None = None


class StatusBoard:
    """Holds the current status; readers wait for the next one."""

    def __init__(self) -> None:
        self._told: Callable[[EngineStatus], None] | None = None
        self._status = EngineStatus()
        self._since = time.monotonic()
        self._changed = asyncio.Event()

    @property
    def current(self) -> EngineStatus:
        return msgspec.structs.replace(self._status, seconds=round(time.monotonic() - self._since, 2))

    def update(self, **changes: Any) -> None:
        """Replace fields of the status; says nothing where nothing changed. `stopping` is the last one."""
        status = msgspec.structs.replace(self._status, **changes)
        if status == self._status or self._status.phase == "stopping":
            return
        if status.phase != self._status.phase:
            self._since = time.monotonic()
        self._status = status
        self._changed.set()
        self._changed = asyncio.Event()
        if self._told is not None:
            self._told(status)

    def tell(self, told: Callable[[EngineStatus], None] | None) -> None:
        """Call this with the current status and at once with every later one; None: call nobody any more."""
        self._told = told
        if told is not None:
            told(self._status)

    async def follow(self) -> AsyncGenerator[EngineStatus, None]:
        """The current status, then every later one, up to `stopping`; a slow reader gets the newest."""
        while True:
            changed = self._changed
            yield self.current
            if self._status.phase == "stopping":
                return
            await changed.wait()
