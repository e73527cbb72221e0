"""Whether a prefix is back from the disk sooner than the model has read it anew."""

from dataclasses import dataclass

_SMALLEST = 256
"""Tokens of a chunk that says how fast prompts are read: a smaller one costs what its weights cost."""

_NEWEST = 0.5
"""What the newest figure counts."""


@dataclass
class Pace:
    """Both speeds, as measured; what is not known yet speaks for the disk.

    A GPU may read a prompt anew many times faster than a disk gives it back: an H200 reads 3,000 tokens of an
    8B model in 0.1 s, and their keys and values are 400 MB.

    Attributes:
        tokens_per_s: of prompts, while nothing else is done.
        bytes_per_s: of files, checked and taken over by the device. Until one has been: what a file in the
            memory of a usual machine gives.
    """

    tokens_per_s: float | None = None
    bytes_per_s: float = 1.5e9
    _measured: bool = False

    def read(self, tokens: int, seconds: float) -> None:
        """Note how long a chunk of a prompt took."""
        if tokens >= _SMALLEST and seconds > 0:
            speed = tokens / seconds
            before = self.tokens_per_s
            self.tokens_per_s = speed if before is None else before + _NEWEST * (speed - before)

    def restored(self, nbytes: int, seconds: float) -> None:
        """Note how long a file took."""
        if seconds > 0:
            speed = nbytes / seconds
            step = _NEWEST if self._measured else 1.0
            self.bytes_per_s += step * (speed - self.bytes_per_s)
            self._measured = True

    def worth(self, tokens: int, nbytes: int) -> bool:
        """Whether so many tokens more are worth a file of so many bytes."""
        return self.tokens_per_s is None or nbytes / self.bytes_per_s < tokens / self.tokens_per_s
