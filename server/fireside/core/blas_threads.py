"""How many threads a BLAS gets: measured once, then kept off the cores that others need.

The threads of one product wait for each other by spinning. That is fastest while each has a core to
itself; when another program takes one of the cores, every product waits for the thread that has lost
its turn. Measured with two threads on two cores: 4.4 ms a pass alone, 100 to 1,000 ms beside two busy
programs, where one thread takes 16 ms.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import mlx.core as mx
import msgspec

from fireside.core.blas_library import BlasLibrary
from fireside.core.blas_proofs import BlasProofs, library_key
from fireside.core.machine import OthersLoad, largest_cache_bytes, usable_cores, usable_cpus

_GOOD_ENOUGH = 0.95
"""Fewer threads are preferred if they reach this share of the best speed."""

_MEASURE_S = 0.6
_CALM = 0.25
"""CPUs that others may keep busy during a measurement that is to be remembered."""

_WIDTH = 1024
_PREFILL_ROWS = 256
_MIN_BUFFER_BYTES, _MAX_BUFFER_BYTES = 32 << 20, 256 << 20

_USER_LIMITS = ("OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")

Work = Callable[[], object]


@dataclass(frozen=True)
class ThreadPlan:
    """How many threads are best for each kind of work while the machine is otherwise idle."""

    decode: int
    prefill: int


def choose_threads(library: BlasLibrary, cache_dir: Path) -> ThreadPlan | None:
    """Find out within a second, once, and set the number for decoding.

    To be called in the core with its model loaded and the app running beside it. A measurement on a
    busy machine is used but not remembered. None if the library takes no orders.
    """
    if not library.set_threads(1):
        return None
    most = min(usable_cores(), _limit_of_the_user())
    if most == 1:
        return ThreadPlan(decode=1, prefill=1)
    proofs = BlasProofs(cache_dir / "blas-proofs.json")
    key = library_key(library.path, "threads", most)
    if (known := proofs.get(key)) is not None:
        plan = msgspec.convert(known, ThreadPlan)
    else:
        others = OthersLoad()
        plan = _measure(library, thread_counts(most))
        if others.measure() < _CALM:
            proofs.put(key, asdict(plan))
    library.set_threads(plan.decode)
    return plan


def thread_counts(most: int) -> list[int]:
    """The numbers worth a try: powers of two, and all."""
    return sorted({most, *(2**power for power in range(most.bit_length()))})


def fewest_good(seconds: dict[int, float]) -> int:
    """The smallest number of threads that is nearly as fast as the best."""
    best = min(seconds.values())
    return min(count for count, took in seconds.items() if best >= took * _GOOD_ENOUGH)


class ThreadGovernor:
    """Takes threads away while others need the cores, and gives them back.

    `between_steps` is called by the thread that runs MLX, when nothing is being evaluated.
    """

    _INTERVAL_S = 0.5
    _TAKEN, _FREE = 0.4, 0.75
    """A core is given up when less of it is free than the first, and used again from the second on."""

    def __init__(
        self,
        library: BlasLibrary,
        most: int,
        others: Callable[[], float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._library = library
        self._most = self._threads = most
        self._others = others or OthersLoad().measure
        self._clock = clock
        self._cpus = usable_cpus()
        self._next = clock() + self._INTERVAL_S

    @property
    def threads(self) -> int:
        """The number in force."""
        return self._threads

    def between_steps(self) -> None:
        """Look at the machine, at most twice a second, and follow it."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + self._INTERVAL_S
        wanted = self._wanted(self._cpus - self._others())
        if wanted != self._threads:
            self._threads = wanted
            self._library.set_threads(wanted)

    def _wanted(self, free: float) -> int:
        at_most = math.floor(free + 1 - self._TAKEN)
        at_least = math.floor(free + 1 - self._FREE)
        return min(self._most, max(1, at_least, min(self._threads, at_most)))


def _measure(library: BlasLibrary, counts: Sequence[int]) -> ThreadPlan:
    decode, prefill = _decode_work(), _prefill_work()
    decode_s, prefill_s = dict.fromkeys(counts, math.inf), dict.fromkeys(counts, math.inf)
    deadline = time.monotonic() + _MEASURE_S
    # In turns, so that a passing disturbance hits all numbers alike.
    while math.inf in decode_s.values() or time.monotonic() < deadline:
        for count in counts:
            library.set_threads(count)
            decode_s[count] = min(decode_s[count], _seconds(decode))
            prefill_s[count] = min(prefill_s[count], _seconds(prefill))
    return ThreadPlan(fewest_good(decode_s), fewest_good(prefill_s))


def _decode_work() -> Work:
    """One row through more weights than the caches hold."""
    size = min(max(_MIN_BUFFER_BYTES, 2 * largest_cache_bytes()), _MAX_BUFFER_BYTES)
    layers = [mx.full((_WIDTH, _WIDTH), 0.5) for _ in range(size // (_WIDTH * _WIDTH * 4))]
    row = mx.ones((1, _WIDTH))
    mx.eval(row, layers)
    return lambda: mx.eval([row @ layer.T for layer in layers])


def _prefill_work() -> Work:
    rows, layer = mx.ones((_PREFILL_ROWS, _WIDTH)), mx.ones((_WIDTH, _WIDTH))
    mx.eval(rows, layer)
    return lambda: mx.eval(rows @ layer.T)


def _seconds(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _limit_of_the_user() -> int:
    """The smallest number in the variables that such libraries know; no limit if none is set."""
    numbers = [os.environ.get(name, "") for name in _USER_LIMITS]
    return min(
        (int(number) for number in numbers if number.isdigit() and int(number) > 0), default=sys.maxsize
    )
