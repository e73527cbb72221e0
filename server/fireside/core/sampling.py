"""Drawing tokens with mlx-lm's filters and penalties, so that an answer can be taken up where it stopped.

A draw depends on the row's seed and the token's index alone. Penalties look at ids alone: at all of a
row's tokens, the prompt's included, as in `mlx_lm.generate`. A row that is taken up again with its prompt
and what it had generated has therefore the same logits and draws as one that was never interrupted.
"""

from collections.abc import Callable

import mlx.core as mx
from mlx_lm import sample_utils
from mlx_lm.sample_utils import greedy_sampler

from fireside.wire import Sampling

Sampler = Callable[[mx.array], mx.array]
LogitsProcessor = Callable[[mx.array, mx.array], mx.array]

_COLDEST = 1e-4
"""Below it, float32 log-probabilities overflow when they are divided by the temperature."""

_NARROWEST = 1e-6
"""Below it, `top_p` leaves the most likely token alone, and float32 would round it to nothing at all."""

_HALF = 0.5
"""XTC needs two tokens above its threshold; above a half there is one at most, and mlx-lm refuses it."""

_MASK = (1 << 64) - 1


def make_sampler(sampling: Sampling, index: int, vocab_size: int) -> Sampler:
    """A sampler for one row: log-probabilities (1, vocab) float in, token ids (1,) out.

    The filters are mlx-lm's in mlx-lm's order: `top_p`, `min_p`, XTC, `top_k`, then the temperature.

    Args:
        index: of the first token to draw; above 0 when a row is taken up again.
        vocab_size: `top_k` from here on means off.
    """
    if sampling.temperature < _COLDEST or 0 < sampling.top_p < _NARROWEST:
        return greedy_sampler
    return _SeededSampler(sampling, index, vocab_size)


def make_processors(sampling: Sampling, vocab_size: int) -> list[LogitsProcessor]:
    """What changes one row's logits before they are normalised: the bias, then the penalties.

    Each takes the row's ids so far (n,) int and its logits (1, vocab) float, and gives logits of that dtype.
    """
    bias = {token: value for token, value in sampling.logit_bias.items() if 0 <= token < vocab_size}
    return sample_utils.make_logits_processors(
        logit_bias=bias,
        repetition_penalty=0 if sampling.repetition_penalty == 1 else sampling.repetition_penalty,
        repetition_context_size=sampling.repetition_context_size,
        presence_penalty=sampling.presence_penalty,
        presence_context_size=sampling.presence_context_size,
        frequency_penalty=sampling.frequency_penalty,
        frequency_context_size=sampling.frequency_context_size,
    )


class _SeededSampler:
    """mlx-lm's sampler, with MLX's random state set anew before each draw."""

    def __init__(self, sampling: Sampling, index: int, vocab_size: int) -> None:
        self._seed = sampling.seed
        self._index = index
        self._compiles = _compiles()
        self._draw = sample_utils.make_sampler(
            temp=sampling.temperature,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            top_k=sampling.top_k if sampling.top_k < vocab_size else 0,
            xtc_probability=sampling.xtc_probability,
            xtc_threshold=min(sampling.xtc_threshold, _HALF),
            xtc_special_tokens=[token for token in sampling.xtc_exempt if 0 <= token < vocab_size],
        )

    def __call__(self, logprobs: mx.array) -> mx.array:
        mx.random.seed(_mix(self._seed, self._index))
        self._index += 1
        # mlx-lm's filters are compiled functions, for every value of a parameter anew: each time a request
        # has a new `temperature` or `top_p`, all rows would wait for a compiler.
        if self._compiles:
            mx.disable_compile()
        try:
            return self._draw(logprobs.astype(mx.float32))
        finally:
            if self._compiles:
                mx.enable_compile()


def _compiles() -> bool:
    """Whether `mx.compile` does anything; MLX has no getter for what `mx.disable_compile` sets."""
    calls: list[None] = []

    def function(x: mx.array) -> mx.array:
        calls.append(None)
        return x

    compiled, argument = mx.compile(function), mx.array(0)
    compiled(argument)
    compiled(argument)
    return len(calls) == 1


def _mix(seed: int, index: int) -> int:
    """A well-spread 64-bit key of (seed, index): splitmix64 (Steele, Lea, Flood 2014)."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
