"""How many prompt tokens a step may read, so that rows that are answering keep flowing."""

import time
from collections import deque
from dataclasses import dataclass
from statistics import median

LONGEST_GAP_S = 0.25
"""Between two tokens of a row while others' prompts are read, unless decoding itself is slow."""

DECODE_STEPS = 4
"""Median decode steps that a gap may last where that is longer."""

_ALONE_S = 1.0
"""A chunk while nobody is answering: an abort and a newcomer wait for it."""

_SHARE = 0.45
"""Of what a step may last, that one aims at; the next chunk is deeper in its prompt and costs more."""

SMALLEST = 16
_FIRST = 32
_RECENT = 32


@dataclass
class _Size:
    """Tokens of the next chunk, a power of two, so that few shapes exist."""

    tokens: int
    smallest: int
    largest: int

    def adapt(self, seconds: float, decode_s: float, limit_s: float) -> None:
        """Halve after a step that lasted too long; double if even twice the reading would not have."""
        if seconds > _SHARE * limit_s:
            self.tokens = max(self.smallest, self.tokens // 2)
        elif decode_s + 2 * (seconds - decode_s) <= _SHARE * limit_s:
            self.tokens = min(self.largest, self.tokens * 2)


class ChunkPlanner:
    """Measures the steps and sizes the next chunk after them.

    Not by a cost per token: a forward pass has a part that does not grow with the chunk (all weights are
    read), so that small chunks would look dear and stay small.

    Args:
        largest: tokens that a chunk never exceeds, a power of two.
        smallest: tokens that it always may have, one too.
    """

    def __init__(self, largest: int, smallest: int = SMALLEST) -> None:
        self._beside = _Size(min(max(_FIRST, smallest), largest), smallest, largest)
        self._alone = _Size(largest, smallest, largest)
        self._decode: deque[float] = deque(maxlen=_RECENT)
        self._began = time.perf_counter()

    @property
    def decode_s(self) -> float:
        """The median of the recent steps that only decoded; 0 before the first."""
        return median(self._decode) if self._decode else 0.0

    def budget(self, *, decoding: bool) -> int:
        """Tokens that the step which begins now may read."""
        self._began = time.perf_counter()
        return (self._beside if decoding else self._alone).tokens

    def measured(self, tokens: int, *, decoding: bool) -> None:
        """The step is over; it read so many tokens."""
        seconds = time.perf_counter() - self._began
        if tokens == 0:
            if decoding:
                self._decode.append(seconds)
            return
        size = self._beside if decoding else self._alone
        limit = max(LONGEST_GAP_S, DECODE_STEPS * self.decode_s) if decoding else _ALONE_S
        # What ends a prompt is shorter than it might be, and says nothing about a whole chunk.
        if tokens >= size.tokens or seconds > _SHARE * limit:
            size.adapt(seconds, self.decode_s if decoding else 0.0, limit)
