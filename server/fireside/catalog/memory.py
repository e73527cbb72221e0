"""How much memory may still be taken here, a container's limits included. For the app and for the core."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

SHARE_FOR_FLOAT32 = 0.6
"""Of the free memory, that weights may take as float32 on a CPU.

The rest is for the KV cache, prompts in flight and the other programs on the machine.
"""


@dataclass(frozen=True)
class Cgroups:
    """The control groups that this process is in, from its own up to the root.

    Version 2 and version 1 layouts; where there are none, nothing is limited.
    """

    root: Path = Path("/sys/fs/cgroup")
    membership: Path = Path("/proc/self/cgroup")

    def cpu_quota(self) -> float | None:
        """The tightest quota in cores, or None if there is none."""
        quotas = [quota for group in self._groups("cpu") if (quota := _cpu_quota(group)) is not None]
        return min(quotas, default=None)

    def memory_headroom(self) -> int | None:
        """Bytes that may still be taken before a limit is met, or None if there is no limit."""
        groups = self._groups("memory")
        headrooms = [room for group in groups if (room := _memory_headroom(group)) is not None]
        return min(headrooms, default=None)

    def memory_limit(self) -> int | None:
        """The tightest limit in bytes, whatever is in use, or None if there is none."""
        limits = [_memory_limit(group) for group in self._groups("memory")]
        return min((limit for limit in limits if limit is not None), default=None)

    def _groups(self, controller: str) -> Iterator[Path]:
        for line in read_text(self.membership).splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            base = self.root / controllers if controllers else self.root
            group = base / path.lstrip("/")
            yield from [group, *(parent for parent in group.parents if parent.is_relative_to(base))]


def available_memory(cgroups: Cgroups = Cgroups()) -> int:
    """Bytes that can be taken without swapping and without meeting a container's limit."""
    free = psutil.virtual_memory().available
    headroom = cgroups.memory_headroom()
    return free if headroom is None else max(0, min(free, headroom))


def total_memory(cgroups: Cgroups = Cgroups()) -> int:
    """Bytes that there are in all, or that a container may have."""
    total = psutil.virtual_memory().total
    limit = cgroups.memory_limit()
    return total if limit is None else min(total, limit)


def read_text(path: Path) -> str:
    """A small file of the system, empty where it is not there."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _cpu_quota(group: Path) -> float | None:
    if limits := read_text(group / "cpu.max").split():
        quota, period = limits
    else:
        quota, period = read_text(group / "cpu.cfs_quota_us"), read_text(group / "cpu.cfs_period_us")
    if not quota or not period or quota in ("max", "-1"):
        return None
    return int(quota) / int(period)


def _memory_limit(group: Path) -> int | None:
    limit = read_text(group / "memory.max") or read_text(group / "memory.limit_in_bytes")
    return int(limit) if limit.isdigit() else None


def _memory_headroom(group: Path) -> int | None:
    limit = _memory_limit(group)
    used = read_text(group / "memory.current") or read_text(group / "memory.usage_in_bytes")
    if limit is None or not used.isdigit():
        return None
    return limit - int(used) + _reclaimable(group)


def _reclaimable(group: Path) -> int:
    """File pages that count as used but are dropped before a limit is met."""
    stats = dict(line.split() for line in read_text(group / "memory.stat").splitlines())
    return int(stats.get("total_inactive_file") or stats.get("inactive_file") or 0)
