"""What this machine has for a model: a chip, its memory, and how fast it reads that. Loads no MLX."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from fireside.catalog.bandwidths import of_apple, of_nvidia
from fireside.catalog.fit import PREFILL_STEP
from fireside.catalog.memory import SHARE_FOR_FLOAT32, available_memory, read_text, total_memory

Device = Literal["apple", "nvidia", "cpu"]

_CUDA_PARTS = ("mlx-cuda-13", "mlx-cuda-12", "mlx-cuda")
_ASK_WITHIN_S = 10
_MEBI = 1 << 20

_PROBE_BYTES = 1 << 26
_PROBES = 8
_MOST_PROBES = 8
"""Threads: a few read as fast as the memory allows."""

_METAL_SHARE = 0.75
"""Of unified memory, that Metal recommends a program to use."""


@dataclass(frozen=True)
class Machine:
    """Where models run.

    Attributes:
        name: of the chip or the card, for people.
        memory_bytes: of the device in all; a container's share where it has only that.
        available_bytes: of these, that are free now.
        bandwidth: bytes that it reads from its memory in a second, None where that is not known.
    """

    name: str
    device: Device
    memory_bytes: int
    available_bytes: int
    bandwidth: int | None

    @property
    def has_gpu(self) -> bool:
        """Whether a GPU computes."""
        return self.device != "cpu"

    @property
    def float32_bytes(self) -> int | None:
        """What the weights may take as float32 on a CPU; None with a GPU, which runs them as they are."""
        return None if self.has_gpu else int(self.available_bytes * SHARE_FOR_FLOAT32)

    @property
    def prefill_step(self) -> int:
        """Prompt tokens that are read at a time."""
        return PREFILL_STEP["gpu" if self.has_gpu else "cpu"]


def detect_machine(*, measure: bool = False) -> Machine:
    """Look what there is. Asks programs of the system, so it may take a moment.

    Args:
        measure: read memory for a tenth of a second where no table says how fast that goes.
    """
    if sys.platform == "darwin":
        return _apple()
    if _has_cuda() and (card := _nvidia()) is not None:
        return card
    speed = measure_bandwidth() if measure else None
    return Machine(_cpu_name(), "cpu", total_memory(), available_memory(), speed)


def measure_bandwidth() -> int:
    """Bytes a second that this process's CPUs read from memory together, at their best."""
    import numpy as np

    threads = min(_MOST_PROBES, len(os.sched_getaffinity(0)))
    blocks = [np.ones(_PROBE_BYTES // 8 // threads) for _ in range(threads)]
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_PROBES):
            begin = time.perf_counter()
            list(pool.map(np.max, blocks))
            best = max(best, _PROBE_BYTES / (time.perf_counter() - begin))
    return int(best)


def read_cards(text: str) -> Machine | None:
    """The first card of a table of nvidia-smi: names, MiB in all, MiB free."""
    for line in text.splitlines():
        name, *sizes = (part.strip() for part in line.split(","))
        if len(sizes) == 2 and all(size.isdigit() for size in sizes):
            total, free = (int(size) * _MEBI for size in sizes)
            return Machine(name, "nvidia", total, free, of_nvidia(name))
        if len(sizes) == 2 and name:
            # A card that shares the machine's memory has no numbers of its own.
            return Machine(name, "nvidia", total_memory(), available_memory(), of_nvidia(name))
    return None


def _apple() -> Machine:
    name = _asked("sysctl", "-n", "machdep.cpu.brand_string") or "Apple"
    cores = _asked("sysctl", "-n", "hw.physicalcpu")
    total = total_memory()
    return Machine(
        name=name,
        device="apple",
        memory_bytes=total,
        available_bytes=min(available_memory(), int(total * _METAL_SHARE)),
        bandwidth=of_apple(name, int(cores) if cores.isdigit() else None),
    )


def _nvidia() -> Machine | None:
    if shutil.which("nvidia-smi") is None:
        return None
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    only = ["-i", chosen] if chosen else []
    fields = "--query-gpu=name,memory.total,memory.free"
    return read_cards(_asked("nvidia-smi", *only, fields, "--format=csv,noheader,nounits"))


def _has_cuda() -> bool:
    """Whether the installed MLX computes on NVIDIA cards."""
    for part in _CUDA_PARTS:
        try:
            version(part)
        except PackageNotFoundError:
            continue
        return True
    return False


def _asked(*command: str) -> str:
    """What a program of the system says; nothing where it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ASK_WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cpu_name() -> str:
    for line in read_text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Hardware") and value.strip():
            return value.strip()
    return "CPU"
