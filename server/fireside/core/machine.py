"""What this process may use of the machine's processor: cores and caches, container limits included."""

import os
import resource
import time
from pathlib import Path

from fireside.catalog.memory import Cgroups, read_text


def usable_cores(cgroups: Cgroups | None = None) -> int:
    """Physical cores that this process may run on at once, at least 1."""
    cores = len({_core_of(cpu) for cpu in os.sched_getaffinity(0)})
    quota = (cgroups or Cgroups()).cpu_quota()
    return max(1, cores if quota is None else min(cores, int(quota)))


def usable_cpus() -> int:
    """Logical CPUs that this process may run on, whatever its quota."""
    return len(os.sched_getaffinity(0))


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
    first_cpu = read_text(Path("/proc/cpuinfo")).partition("\n\n")[0]
    return "\n".join(line for line in first_cpu.splitlines() if line.startswith(telling))


def largest_cache_bytes() -> int:
    """The size of the biggest cache of the first CPU, 0 where it is not known."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((_kib(read_text(size)) for size in sizes), default=0)


def _idle_seconds(cpus: set[int]) -> float:
    """Idle time since the start of the machine, summed over some CPUs."""
    ticks = 0
    for line in read_text(Path("/proc/stat")).splitlines():
        name, *counters = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
            ticks += int(counters[3]) + int(counters[4])
    return ticks / os.sysconf("SC_CLK_TCK")


def _core_of(cpu: int) -> str:
    """Hardware threads of one core share this list; without it every CPU is a core."""
    return read_text(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) or str(cpu)


def _kib(size: str) -> int:
    return int(size[:-1]) * 1024 if size.endswith("K") else 0
