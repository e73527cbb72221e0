"""mlx-lm's `BatchGenerator` without a server, in a process of its own, on the arrays that Fireside runs.

The process is stopped (SIGSTOP) whenever it is not asked, so that the threads of its BLAS take nothing from
the server that is measured in turn with it.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fireside.core.blas import load_blas, prepare_blas, wants_blas
from fireside.core.compiler import has_cxx_compiler, keep_kernels_in

_PREFILL_STEP = 512
_FIELD = struct.Struct("<q")


@dataclass(frozen=True)
class Order:
    """Rows to decode together.

    Attributes:
        prompts: a user's text for each row.
        tokens: steps in all.
        skip: of them, before the clock starts.
        ignore: a token that is never drawn, or None.
    """

    prompts: Sequence[str]
    tokens: int
    skip: int
    ignore: int | None = None


class Progress:
    """How many tokens an order has made, and whether they are enough, in a file that two processes map.

    Either field has one writer while an order is worked on: the generator tells the tokens, the other side
    when they are enough.
    """

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as stream:
            stream.truncate(2 * _FIELD.size)
            self._map = mmap.mmap(stream.fileno(), 2 * _FIELD.size)

    @property
    def tokens(self) -> int:
        return _FIELD.unpack_from(self._map, 0)[0]

    @tokens.setter
    def tokens(self, made: int) -> None:
        _FIELD.pack_into(self._map, 0, made)

    @property
    def enough(self) -> bool:
        return bool(_FIELD.unpack_from(self._map, _FIELD.size)[0])

    @enough.setter
    def enough(self, enough: bool) -> None:
        _FIELD.pack_into(self._map, _FIELD.size, enough)


@dataclass
class RawGenerator:
    """The measuring side."""

    process: subprocess.Popen[str]
    progress: Progress
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def decode(self, order: Order) -> float:
        """Tokens a second of all rows together."""
        self.begin(order)
        return float(self.answer()["tokens_per_s"])

    def begin(self, order: Order) -> None:
        """Let it work; `tokens` says how far it is."""
        self.progress.tokens, self.progress.enough = 0, False
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        print(json.dumps(asdict(order)), file=self.process.stdin, flush=True)

    @property
    def tokens(self) -> int:
        """Of the present order so far, of all rows."""
        return self.progress.tokens

    def end(self) -> int:
        """Break the present order off. Returns how many tokens it had made."""
        tokens = self.tokens
        self.progress.enough = True
        self.process.send_signal(signal.SIGCONT)
        self.answer()
        return tokens

    def answer(self) -> dict[str, Any]:
        """The process's next line; it is stopped after that."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the raw generator ended with status {self.process.wait()}; see above")
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line)


@contextmanager
def raw_generator(folder: Path, cache: Path) -> Iterator[RawGenerator]:
    """Load a model folder beside a server; `cache` is where the BLAS of its home is kept."""
    with tempfile.NamedTemporaryFile() as shared:
        progress = Progress(Path(shared.name))
        command = [sys.executable, "-m", "bench.raw", str(folder), str(cache), shared.name]
        yield from _running(command, progress)


def _running(command: list[str], progress: Progress) -> Iterator[RawGenerator]:
    path = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        raw = RawGenerator(process, progress)
        raw.facts = raw.answer()
        yield raw
    finally:
        process.kill()
        process.wait()


def main() -> None:
    """Load, then answer orders, a JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("progress", type=Path)
    arguments = parser.parse_args()
    cpu = wants_blas()
    choice = prepare_blas(arguments.cache) if cpu else None
    library = load_blas(choice) if choice else None
    if cpu:
        keep_kernels_in(arguments.cache / "kernels")
    progress = Progress(arguments.progress)
    worker = _Worker(arguments.folder, progress, wide=cpu, compiles=not cpu or has_cxx_compiler())
    threads = None
    if library is not None:
        from fireside.core.blas_threads import choose_threads

        plan = choose_threads(library, arguments.cache)
        threads = plan and plan.decode
    print(json.dumps({"blas": choice and choice.name, "threads": threads}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"tokens_per_s": worker.decode(Order(**json.loads(line)))}), flush=True)


class _Worker:
    """A loaded model.

    Args:
        progress: is told of each step.
        wide: weights as float32, as Fireside runs them on a CPU; else as they are stored.
        compiles: whether MLX may compile kernels while it runs.
    """

    def __init__(self, folder: Path, progress: Progress, wide: bool, compiles: bool) -> None:
        # Here and not above: the BLAS must be in place first.
        import mlx.core as mx
        from mlx_lm import load
        from mlx_lm.utils import dequantize_model

        self._progress = progress
        if not compiles:
            mx.disable_compile()
        self._model: Any
        self._model, self._tokenizer, *_ = load(str(folder), lazy=True)
        if wide:
            # Before unpacking as well, so that it rounds once, to float32.
            self._model.set_dtype(mx.float32)
            dequantize_model(self._model)
            self._model.set_dtype(mx.float32)
        mx.eval(self._model.parameters())

    def decode(self, order: Order) -> float:
        from mlx_lm.generate import BatchGenerator
        from mlx_lm.sample_utils import make_logits_processors

        rows = len(order.prompts)
        bias = make_logits_processors({order.ignore: -100.0}) if order.ignore is not None else None
        generator = BatchGenerator(
            self._model,
            completion_batch_size=rows,
            prefill_batch_size=rows,
            prefill_step_size=_PREFILL_STEP,
            logits_processors=bias,
        )
        generator.insert([self._ids(prompt) for prompt in order.prompts], max_tokens=[order.tokens] * rows)
        steps = tokens = made = 0
        begin = time.perf_counter()
        while steps < order.tokens and not self._progress.enough:
            done = len(generator.next_generated())
            made += done
            self._progress.tokens = made
            if steps >= order.skip:
                tokens += done
            if done == rows:
                steps += 1
                if steps == order.skip:
                    begin = time.perf_counter()
        return tokens / (time.perf_counter() - begin)

    def _ids(self, prompt: str) -> list[int]:
        messages = [{"role": "user", "content": prompt}]
        return self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, enable_thinking=False
        )


if __name__ == "__main__":
    main()
