"""Compiling, while nobody waits, the kernels that requests will need."""

import time
from collections.abc import Callable, Iterator

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.chunks import SMALLEST
from fireside.core.cuda_graphs import open_stream
from fireside.core.decoding import Decoder
from fireside.core.prompts import Prompt
from fireside.wire import Sampling, Submit

_STEPS = 2


class WarmUp:
    """On a GPU the first use of a batch size or of a chunk's width compiles kernels, for seconds.

    Goes through them one at a time, the smallest first. Between two shapes requests are served.

    Args:
        rows: the largest batch.
        prefill_step: the widest chunk.
        block: see `Prompt`.
        read: is told in the end how many tokens were read in how many seconds, with nothing left to compile.
    """

    def __init__(
        self,
        model: nn.Module,
        vocab_size: int,
        rows: int,
        prefill_step: int,
        block: int = 1,
        read: Callable[[int, float], None] = lambda _tokens, _seconds: None,
    ) -> None:
        self._model = model
        self._vocab_size = vocab_size
        self._block = block
        widths, counts = _widths(prefill_step, block), _counts(rows)
        self._read = read
        self.total = len(counts) + len(widths) + 1
        self.done = 0
        self._shapes = self._run(counts, widths)
        self._stream = _stream_apart()

    @property
    def complete(self) -> bool:
        return self.done >= self.total

    def step(self) -> None:
        """Run the next shape."""
        with mx.stream(self._stream):
            next(self._shapes)
        mx.synchronize(self._stream)
        self.done += 1

    def _run(self, counts: list[int], widths: list[int]) -> Iterator[None]:
        for width in widths:
            self._prompt(0, width)
            yield
        for count in counts:
            self._decode(count)
            yield
        begin = time.perf_counter()
        self._prompt(0, widths[-1])
        self._read(widths[-1], time.perf_counter() - begin)
        yield

    def _prompt(self, number: int, tokens: int) -> Prompt:
        ids = (np.arange(tokens + 1) % self._vocab_size).tolist()
        sampling = Sampling(temperature=1.0, seed=number) if number % 2 else Sampling()
        prompt = Prompt(Submit(number, ids, [], _STEPS + 1, [], sampling), self._block)
        nothing = PromptCache(0)
        prompt.begin(self._model, nothing)
        prompt.read(self._model, nothing, tokens)
        return prompt

    def _decode(self, rows: int) -> None:
        """Rows join one after another, as they do in life, and each drawn and greedy ones are there."""
        decoder = Decoder(self._model, self._vocab_size)
        for number in range(rows):
            decoder.join([self._prompt(number, SMALLEST)])
        for _ in range(_STEPS):
            decoder.step()


def _stream_apart() -> mx.Stream:
    """A stream for the warm-up alone, which keeps next to no CUDA graphs.

    The kernels that it compiles serve all streams. The graphs that it leaves behind would make every later
    step of its stream slower, by a half on an H200.
    """
    stream = mx.new_stream(mx.default_device())
    open_stream(stream, graphs=1)
    return stream


def _widths(largest: int, block: int) -> list[int]:
    """Of the chunks that prompts are read in: all of them where they are few."""
    if block > 1:
        return list(range(block, largest + 1, block))
    return [2**power for power in range(SMALLEST.bit_length() - 1, largest.bit_length())]


def _counts(rows: int) -> list[int]:
    """Of rows that decode together: a few, which compile what all of them need."""
    return sorted({rows, *(2**power for power in range(rows.bit_length()))})
