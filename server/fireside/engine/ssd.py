"""The SSD tier as the app sees it: what it may take, what it says of itself, waiting until it has written."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from fireside import wire
from fireside.engine.ssd_files import tier_files

_USUAL_BYTES, _USUAL_SHARE = 10_000_000_000, 0.05
"""Of the free disk, that the tier may grow to unasked: the smaller one."""

FLUSH_WITHIN_S = 10.0
"""What a core that is to end may take to write what it has read."""

_QUIET_S = 0.3
_CLOSE_WITHIN_S = 3.0
_ANSWER_WITHIN_S = 2.0
"""More than what a core was given: it may be in the middle of a step."""


def usual_max_bytes(folder: Path) -> int:
    """The smaller of 10 GB and 5 % of what is free of a folder's disk, the tier's files counted as free.

    Args:
        folder: need not be there.
    """
    place = next(path for path in (folder, *folder.parents) if path.exists())
    used = sum(size for _, size in tier_files(folder))
    return min(_USUAL_BYTES, int(_USUAL_SHARE * (shutil.disk_usage(place).free + used)))


def ssd_cache_stats(settings: wire.SsdSettings, state: wire.SsdState) -> dict[str, int | float | str]:
    """`/stats.ssd_cache`: sizes in bytes, counters since the core's start."""
    return {
        "dir": settings.dir,
        "entries": state.entries,
        "bytes": state.bytes,
        "max_bytes": state.max_bytes,
        "restores": state.restores,
        "spills": state.spills,
        "restore_ms_last": state.restore_ms_last,
        "demotions": state.demotions,
        "pending_spills": state.pending_spills,
        "pending_spill_bytes": state.pending_spill_bytes,
        "dropped_spills": state.dropped_spills,
        "quarantined": state.quarantined,
        "written_bytes": state.written_bytes,
    }


class SsdSide:
    """The tier of the core that runs, if it has one.

    Args:
        settings: that the core is started with; None for no tier.
    """

    def __init__(self, settings: wire.SsdSettings | None) -> None:
        self._settings = settings
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[wire.Drained | None]] = {}
        self.state: wire.SsdState | None = None
        """None without a tier, or without a core to ask."""

    @property
    def stats(self) -> dict[str, int | float | str] | None:
        """`/stats.ssd_cache`."""
        if self._settings is None or self.state is None:
            return None
        return ssd_cache_stats(self._settings, self.state)

    async def drain(
        self, send: Callable[[wire.Down], None], within_s: float, *, demote: bool = False
    ) -> wire.Drained | None:
        """Let the core put its prompt cache on the disk.

        Args:
            send: to the core.
            demote: free the memory of what is there then.

        Returns:
            What was written and what was not, after so many seconds at the latest. None if there is no tier,
            or the core dies over it or says nothing.
        """
        if self.state is None:
            return None
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            send(wire.Drain(number, within_s, demote))
            return await asyncio.wait_for(answer, within_s + _ANSWER_WITHIN_S)
        except TimeoutError:
            return None
        finally:
            del self._asked[number]

    def drained(self, report: wire.Drained) -> None:
        """The core has done what it was asked for."""
        answer = self._asked.get(report.id)
        if answer is not None and not answer.done():
            answer.set_result(report)

    def core_down(self) -> None:
        """Nothing will be answered any more."""
        self.state = None
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result(None)


class Flushing:
    """The last drain before the end, told on standard error as it goes.

    Attributes:
        until: when all of it is over at the latest, on the monotonic clock.
    """

    def __init__(self) -> None:
        self.until = 0.0

    async def run(self, drain: Callable[[float], Awaitable[wire.Drained | None]]) -> None:
        """Drain, and say what is written if that takes its time, and what became of it."""
        self.until = time.monotonic() + FLUSH_WITHIN_S + _ANSWER_WITHIN_S
        flushed = asyncio.ensure_future(drain(FLUSH_WITHIN_S))
        await asyncio.wait({flushed}, timeout=_QUIET_S)
        if not flushed.done():
            _tell(f"Writing the prompt cache, for {FLUSH_WITHIN_S:g} s at most. Ctrl-C stops at once.")
        told = await flushed
        self.until = time.monotonic() + _CLOSE_WITHIN_S
        if told is not None and (told.written or told.dropped or told.left):
            _tell(_report(told))


def _report(told: wire.Drained) -> str:
    lost = told.dropped + told.left
    rest = f"; {lost} could not be written and will be read by the model again" if lost else ""
    entries = "1 entry" if told.written == 1 else f"{told.written} entries"
    return f"Prompt cache: {entries} written to the disk ({told.written_bytes / 1e6:.1f} MB){rest}."


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
