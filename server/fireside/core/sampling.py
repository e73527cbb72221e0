"""Drawing tokens so that an answer can be taken up again where it stopped."""

from collections.abc import Callable

import mlx.core as mx
from mlx_lm.sample_utils import apply_min_p, apply_top_k, apply_top_p, greedy_sampler

from fireside.wire import Sampling

Sampler = Callable[[mx.array], mx.array]

_COLDEST = 1e-4
"""Below it, float32 log-probabilities overflow when they are divided by the temperature."""

_NARROWEST = 1e-6
"""Below it, `top_p` leaves the most likely token alone, and float32 would round it to nothing at all."""

_MASK = (1 << 64) - 1


def make_sampler(sampling: Sampling, index: int, vocab_size: int) -> Sampler:
    """A sampler for one row: log-probabilities (1, vocab) float in, token ids (1,) out.

    Args:
        index: of the first token to draw; above 0 when a row is taken up again.
        vocab_size: `top_k` from here on means off.
    """
    if sampling.temperature < _COLDEST or 0 < sampling.top_p < _NARROWEST:
        return greedy_sampler
    return _SeededSampler(sampling, index, vocab_size)


class _SeededSampler:
    def __init__(self, sampling: Sampling, index: int, vocab_size: int) -> None:
        self._sampling = sampling
        self._index = index
        self._top_k = sampling.top_k if sampling.top_k < vocab_size else 0

    def __call__(self, logprobs: mx.array) -> mx.array:
        key = mx.random.key(_mix(self._sampling.seed, self._index))
        self._index += 1
        logprobs = self._filter(logprobs) * (1 / self._sampling.temperature)
        return mx.random.categorical(logprobs, key=key)

    def _filter(self, logprobs: mx.array) -> mx.array:
        if 0 < self._sampling.top_p < 1:
            logprobs = apply_top_p(logprobs, self._sampling.top_p)
        if self._sampling.min_p > 0:
            logprobs = apply_min_p(logprobs, self._sampling.min_p)
        if self._top_k > 0:
            logprobs = apply_top_k(logprobs, self._top_k)
        return logprobs


def _mix(seed: int, index: int) -> int:
    """A well-spread 64-bit key of (seed, index): splitmix64 (Steele, Lea, Flood 2014)."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
