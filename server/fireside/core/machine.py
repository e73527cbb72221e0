"""What this process may use of the machine: cores, memory and caches, container limits included."""

import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil


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

    def _groups(self, controller: str) -> Iterator[Path]:
        for line in _read(self.membership).splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            base = self.root / controllers if controllers else self.root
            group = base / path.lstrip("/")
            yield from [group, *(parent for parent in group.parents if parent.is_relative_to(base))]


def usable_cores(cgroups: Cgroups = Cgroups()) -> int:
    """Physical cores that this process may run on at once, at least 1."""
    cores = len({_core_of(cpu) for cpu in os.sched_getaffinity(0)})
    quota = cgroups.cpu_quota()
    return max(1, cores if quota is None else min(cores, int(quota)))


def usable_cpus() -> int:
    """Logical CPUs that this process may run on, whatever its quota."""
    return len(os.sched_getaffinity(0))


def available_memory(cgroups: Cgroups = Cgroups()) -> int:
    """Bytes that can be taken without swapping and without meeting a container's limit."""
    free = psutil.virtual_memory().available
    headroom = cgroups.memory_headroom()
    return free if headroom is None else max(0, min(free, headroom))


class OthersLoad:
    """How busy other programs keep the CPUs that this process may run on."""

    def __init__(self) -> None:
        self._cpus = os.sched_getaffinity(0)
        self._before = self._sample()

    def measure(self) -> float:
        """CPUs that others kept busy, on average, since the call before (or since the creation).

        Precise to a few percent when half a second or more has passed. 0 where the system keeps no
        account of idle time.
        """
        before, self._before = self._before, self._sample()
        wall, idle, own = (now - then for now, then in zip(self._before, before, strict=True))
        if wall <= 0 or self._before[1] == 0:
            return 0.0
        return max(0.0, len(self._cpus) - (idle + own) / wall)

    def _sample(self) -> tuple[float, float, float]:
        """Seconds: on the clock, idle of all the CPUs together, used by this process."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return time.monotonic(), _idle_seconds(self._cpus), usage.ru_utime + usage.ru_stime


def cpu_identity() -> str:
    """What decides which kernels a BLAS picks and whether they are right here: model and flags."""
    telling = ("vendor", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
    first_cpu = _read(Path("/proc/cpuinfo")).partition("\n\n")[0]
    return "\n".join(line for line in first_cpu.splitlines() if line.startswith(telling))


def largest_cache_bytes() -> int:
    """The size of the biggest cache of the first CPU, 0 where it is not known."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((_kib(_read(size)) for size in sizes), default=0)


def _idle_seconds(cpus: set[int]) -> float:
    """Idle time since the start of the machine, summed over some CPUs."""
    ticks = 0
    for line in _read(Path("/proc/stat")).splitlines():
        name, *counters = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
            ticks += int(counters[3]) + int(counters[4])
    return ticks / os.sysconf("SC_CLK_TCK")


def _core_of(cpu: int) -> str:
    """Hardware threads of one core share this list; without it every CPU is a core."""
    return _read(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) or str(cpu)


def _cpu_quota(group: Path) -> float | None:
    if limits := _read(group / "cpu.max").split():
        quota, period = limits
    else:
        quota, period = _read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")
    if not quota or not period or quota in ("max", "-1"):
        return None
    return int(quota) / int(period)


def _memory_headroom(group: Path) -> int | None:
    limit = _read(group / "memory.max") or _read(group / "memory.limit_in_bytes")
    used = _read(group / "memory.current") or _read(group / "memory.usage_in_bytes")
    if not limit.isdigit() or not used.isdigit():
        return None
    return int(limit) - int(used) + _reclaimable(group)


def _reclaimable(group: Path) -> int:
    """File pages that count as used but are dropped before a limit is met."""
    stats = dict(line.split() for line in _read(group / "memory.stat").splitlines())
    return int(stats.get("total_inactive_file") or stats.get("inactive_file") or 0)


def _kib(size: str) -> int:
    return int(size[:-1]) * 1024 if size.endswith("K") else 0


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
