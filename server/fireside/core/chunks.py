"""How many prompt tokens a step may read, so that rows that are answering keep flowing."""

import time
from collections import deque
from statistics import median

LONGEST_GAP_S = 0.25
"""Between two tokens of a row while others' prompts are read, unless decoding itself is slow."""

DECODE_STEPS = 4
"""Median decode steps that a gap may last where that is longer."""

_AIM = 0.5
"""Of the longest gap; the rest is for what an estimate misses and for the joining itself."""

_ALONE_S = 1.0
"""A chunk while nobody is answering: an abort and a newcomer wait for it."""

_SMALLEST = 16
_FIRST = 32
_RECENT = 32
_WEIGHT = 0.5
"""Of a chunk that cost less than was thought. One that cost more counts at once: the next is deeper still."""


class ChunkPlanner:
    """Measures the steps and sizes the next chunk.

    A step of a batch that also reads takes `decode + tokens * cost`. `decode` is the median of the steps
    that read nothing, `cost` follows the chunks. Sizes are powers of two, so that few shapes exist.

    Args:
        largest: tokens that a chunk never exceeds.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._decode: deque[float] = deque(maxlen=_RECENT)
        self._cost: float | None = None
        self._began = time.perf_counter()

    @property
    def decode_s(self) -> float:
        """The median of the recent steps that only decoded; 0 before the first."""
        return median(self._decode) if self._decode else 0.0

    def budget(self, *, decoding: bool) -> int:
        """Tokens that the step which begins now may read."""
        self._began = time.perf_counter()
        if self._cost is None:
            return min(_FIRST, self._largest) if decoding else self._largest
        if decoding:
            longest = max(LONGEST_GAP_S, DECODE_STEPS * self.decode_s)
            seconds = _AIM * longest - self.decode_s
        else:
            seconds = _ALONE_S
        tokens = int(max(0.0, seconds) / self._cost)
        return min(self._largest, max(_SMALLEST, 1 << max(0, tokens.bit_length() - 1)))

    def measured(self, tokens: int, *, decoding: bool) -> None:
        """The step is over; it read so many tokens."""
        seconds = time.perf_counter() - self._began
        if tokens == 0:
            if decoding:
                self._decode.append(seconds)
            return
        cost = max(1e-7, (seconds - (self.decode_s if decoding else 0.0)) / tokens)
        known = self._cost
        self._cost = cost if known is None or cost > known else known + _WEIGHT * (cost - known)
