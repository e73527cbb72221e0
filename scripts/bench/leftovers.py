"""What a server's processes hold, to see whether they give it back."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

_RELEASE_WITHIN_S = 90.0
"""Longer than a server keeps a connection that its client has closed."""

_LOOK_EVERY_S = 0.2


@dataclass(frozen=True)
class Held:
    """Threads and file descriptors of each process, by its name.

    Attributes:
        waited_s: until the connections that clients had closed were closed here as well.
    """

    threads: dict[str, int]
    descriptors: dict[str, int]
    waited_s: float = 0.0

    @classmethod
    def now(cls, processes: Mapping[str, psutil.Process], waited_s: float = 0.0) -> Held:
        """What they hold at this moment."""
        return cls(
            {name: process.num_threads() for name, process in processes.items()},
            {name: process.num_fds() for name, process in processes.items()},
            waited_s,
        )

    @classmethod
    async def settled(cls, processes: Mapping[str, psutil.Process]) -> Held:
        """What they hold once the connections that clients have closed are gone, or after 90 s."""
        begin = time.monotonic()
        for _ in range(round(_RELEASE_WITHIN_S / _LOOK_EVERY_S)):
            if not any(map(_half_closed, processes.values())):
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        return cls.now(processes, time.monotonic() - begin)

    def within(self, other: Held) -> tuple[bool, bool]:
        """Whether threads, and descriptors, are no more than those of `other`."""
        return _at_most(self.threads, other.threads), _at_most(self.descriptors, other.descriptors)


@dataclass(frozen=True)
class Growth:
    """A line through samples of memory, in bytes."""

    grown: float
    a_minute: float
    mean: float

    @classmethod
    def of(cls, times: Sequence[float], sizes: Sequence[int]) -> Growth:
        """Fit one.

        Args:
            times: in seconds; three at least.
        """
        slope = statistics.linear_regression(times, sizes).slope
        return cls(slope * (times[-1] - times[0]), 60 * slope, statistics.mean(sizes))


def _half_closed(process: psutil.Process) -> int:
    return sum(each.status == psutil.CONN_CLOSE_WAIT for each in process.net_connections(kind="tcp"))


def _at_most(after: dict[str, int], before: dict[str, int]) -> bool:
    return all(after[name] <= before[name] for name in before)
