"""Keeps a core alive: starts one, passes on what it reports, and starts another when it is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fireside import framing, wire
from fireside.engine.link import CoreLink, how

log = logging.getLogger(__name__)

_BACKOFF_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)
_MAX_DEATHS_WHILE_LOADING = 5


class Watcher(Protocol):
    """Whoever needs a core."""

    async def reported(self, link: CoreLink, report: wire.Up) -> str | None:
        """A core says something. Returns why another one would not help, if that is what it means."""
        ...

    def died(self) -> None:
        """The core is gone, and another one is about to be started."""
        ...

    def gave_up(self, message: str) -> None:
        """No core will come any more."""
        ...


@dataclass
class _Life:
    """What became of a core: whether it was ready, and took a step; and why another one would not help."""

    ready: bool = False
    stepped: bool = False
    failure: str | None = None


class Supervisor:
    """One core at a time, until one fails for good or too many die while they are loading.

    Args:
        command: that starts one; the number of its socket is appended.
        start: what it is told first.

    Attributes:
        link: to the core; None between two.
    """

    def __init__(self, command: Sequence[str], start: wire.Start, watcher: Watcher) -> None:
        self._command = command
        self._start = start
        self._watcher = watcher
        self.link: CoreLink | None = None
        self._task: asyncio.Task[None] | None = None
        self._burials: set[asyncio.Future[int]] = set()

    def start(self) -> None:
        """Begin, in the background."""
        self._task = asyncio.create_task(self._run(), name="engine")

    async def close(self) -> None:
        """End the core. Idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        if self._burials:
            await asyncio.wait(self._burials)

    async def _run(self) -> None:
        useless_cores = deaths_while_loading = 0
        try:
            while deaths_while_loading < _MAX_DEATHS_WHILE_LOADING:
                await asyncio.sleep(_BACKOFF_S[min(useless_cores, len(_BACKOFF_S) - 1)])
                link = self.link = await CoreLink.spawn(self._command, self._start)
                life = await self._follow(link)
                if life.failure is not None:
                    self._watcher.gave_up(life.failure)
                    return
                deaths_while_loading = 0 if life.ready else deaths_while_loading + 1
                useless_cores = 0 if life.stepped else useless_cores + 1
                self.link = None
                self._watcher.died()
                log.warning("the core ended (%s); another one is started", how(await self._collect(link)))
            self._watcher.gave_up(
                f"The engine ended {deaths_while_loading} times while loading the model; see the log."
            )
        except Exception as error:
            # Nobody else watches this task: what it does not tell, nobody would ever know.
            log.exception("the engine's supervisor failed")
            self._watcher.gave_up(f"The engine cannot go on: {type(error).__name__}: {error}")
        finally:
            if self.link is not None:
                await self._collect(self.link)

    async def _follow(self, link: CoreLink) -> _Life:
        """Pass a core's reports on until it is gone."""
        life = _Life()
        try:
            async for report in link.reports():
                life.failure = await self._watcher.reported(link, report)
                if life.failure is not None:
                    break
                life.ready |= isinstance(report, wire.Ready)
                life.stepped |= isinstance(report, wire.Step)
        except framing.WireError:
            log.exception("the core broke the protocol; it is replaced")
        return life

    async def _collect(self, link: CoreLink) -> int:
        """End a core and collect it; goes on to its end where the caller is cancelled meanwhile."""
        burial = asyncio.ensure_future(link.close())
        self._burials.add(burial)
        burial.add_done_callback(self._burials.discard)
        return await asyncio.shield(burial)
