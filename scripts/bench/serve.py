"""Fireside beside a stock `mlx_lm.server` on the same model folder and prompts.

    .venv/bin/python scripts/bench/serve.py [--model FOLDER] [--task TEXT] [--rounds 5] [--json FILE]

Both servers stay up and are measured in turn, A B A B …, so that a machine whose speed drifts slows
both. The peer gets a copy of the folder in which 16-bit floats are float32: with the default model's
float16 scales MLX's 4-bit product on a CPU is about 40 times slower, and the peer should be at its best. Each
figure is the median of the rounds, each ratio the median of the pairs' ratios. No two prompts share a
prefix worth caching, so prompt caches play no part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import httpx

_WORDS = (
    "river stone cloud garden letter window orange quiet metal summer engine paper bridge copper valley "
    "signal harbor winter table candle forest market silver mirror button planet thunder ladder pepper"
).split()
_PREFILL_TOKENS = 400
_DECODE_TOKENS = 48
_START_WITHIN_S = 180


@dataclass(frozen=True)
class Target:
    """A server under test: where it is and what its model is called there."""

    name: str
    url: str
    model: str


@dataclass(frozen=True)
class Reply:
    """One streamed answer: seconds from the request, tokens as the server counts them."""

    first_s: float
    last_s: float
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Row:
    """One line of the table; speeds in tokens a second."""

    measure: str
    fireside: float
    peer: float
    ratio: float


async def ask(client: httpx.AsyncClient, target: Target, prompt: str, max_tokens: int) -> Reply:
    """One greedy streamed chat completion."""
    body = {
        "model": target.model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "chat_template_kwargs": {"enable_thinking": False},
    }
    begin = time.perf_counter()
    first = last = 0.0
    usage: dict[str, int] = {}
    async with client.stream("POST", f"{target.url}/v1/chat/completions", json=body) as reply:
        reply.raise_for_status()
        async for line in reply.aiter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line.removeprefix("data: "))
            usage = chunk.get("usage") or usage
            if any(choice.get("delta", {}).get("content") for choice in chunk["choices"]):
                last = time.perf_counter() - begin
                first = first or last
    return Reply(first, last, usage["prompt_tokens"], usage["completion_tokens"])


class Prompts:
    """Prompts of which no two begin alike, the same ones for both servers."""

    def __init__(self, seed: int, task: str) -> None:
        self._rng = random.Random(seed)
        self._task = task

    def long(self, tokens: int) -> str:
        """About so many tokens, most of them one word each."""
        return "Sum up: " + " ".join(self._rng.choice(_WORDS) for _ in range(tokens - 40))

    def story(self) -> str:
        """Something that takes the model far more than a hundred tokens to answer."""
        words = " ".join(self._rng.sample(_WORDS, 3)).capitalize()
        return f"{words}. {self._task}"


async def prefill(client: httpx.AsyncClient, target: Target, prompts: Prompts) -> float:
    reply = await ask(client, target, prompts.long(_PREFILL_TOKENS), 1)
    return reply.prompt_tokens / reply.first_s


async def decode(client: httpx.AsyncClient, target: Target, prompts: Prompts) -> float:
    reply = await ask(client, target, prompts.story(), _DECODE_TOKENS)
    return (reply.completion_tokens - 1) / (reply.last_s - reply.first_s)


def chats(count: int) -> Callable[[httpx.AsyncClient, Target, Prompts], Awaitable[float]]:
    """All tokens of `count` answers at once over the time until the last one is complete."""

    async def measure(client: httpx.AsyncClient, target: Target, prompts: Prompts) -> float:
        begin = time.perf_counter()
        asked = [ask(client, target, prompts.story(), _DECODE_TOKENS) for _ in range(count)]
        replies = await asyncio.gather(*asked)
        return sum(reply.completion_tokens for reply in replies) / (time.perf_counter() - begin)

    return measure


_MEASURES: dict[str, Callable[[httpx.AsyncClient, Target, Prompts], Awaitable[float]]] = {
    f"prefill of {_PREFILL_TOKENS} tokens": prefill,
    "one chat, decode": decode,
    "four chats, all tokens": chats(4),
    "eight chats, all tokens": chats(8),
}


async def compare(fireside: Target, peer: Target, rounds: int, task: str) -> list[Row]:
    """Measure both in turn, after one round that is not counted."""
    rows: list[Row] = []
    async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
        for name, measure in _MEASURES.items():
            pairs: list[tuple[float, float]] = []
            for number in range(rounds + 1):
                ours = await measure(client, fireside, Prompts(number, task))
                theirs = await measure(client, peer, Prompts(number, task))
                pairs.append((ours, theirs))
                print(f"{name}: {ours:.1f} / {theirs:.1f}", file=sys.stderr)
            counted = pairs[1:]
            rows.append(
                Row(
                    name,
                    statistics.median(a for a, _ in counted),
                    statistics.median(b for _, b in counted),
                    statistics.median(a / b for a, b in counted),
                )
            )
    return rows


@contextmanager
def running(command: list[str], environment: dict[str, str], ready_url: str, log: Path) -> Iterator[None]:
    """A server process, from its readiness to its end."""
    with log.open("w") as out:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=out, stderr=out)
    try:
        _wait_until_ready(process, ready_url, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(url, trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"{url} did not become ready:\n{log.read_text()}")


def in_float32(folder: Path, copy: Path) -> Path:
    """The same model with every 16-bit float as float32: MLX on a CPU is many times slower with those."""
    import mlx.core as mx

    shutil.copytree(folder, copy)
    file = str(copy / "model.safetensors")
    arrays = cast("dict[str, mx.array]", mx.load(file))
    narrow = (mx.float16, mx.bfloat16)
    wide = {name: a.astype(mx.float32) if a.dtype in narrow else a for name, a in arrays.items()}
    mx.save_safetensors(file, wide, {"format": "mlx"})
    return copy


def free_port() -> int:
    """A port of this machine that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _table(rows: list[Row]) -> str:
    lines = ["| measure | Fireside tok/s | mlx_lm.server tok/s | ratio |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {r.measure} | {r.fireside:.1f} | {r.peer:.1f} | {r.ratio:.1f}× |" for r in rows]
    return "\n".join(lines)


def main() -> None:
    """Start both servers, compare them, print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a model folder instead of the default model")
    parser.add_argument(
        "--task", default="Write a long story with many details about these.", help="what chats ask"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the rows there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        ours, theirs = free_port(), free_port()
        fireside = Target("Fireside", f"http://127.0.0.1:{ours}", "any")
        serve = [
            sys.executable,
            "-m",
            "fireside.cli",
            "serve",
            "--no-open",
            "--api-only",
            "--port",
            str(ours),
        ]
        if arguments.model:
            serve += ["--model", str(arguments.model)]
        with running(
            serve, {"FIRESIDE_HOME": str(home)}, f"{fireside.url}/health", Path(scratch) / "fireside.log"
        ):
            model = arguments.model or home / "models" / "SmolLM2-135M-Instruct"
            folder = in_float32(model, Path(scratch) / "peer")
            peer = Target("mlx_lm.server", f"http://127.0.0.1:{theirs}", str(folder))
            stock = [sys.executable, "-m", "mlx_lm", "server", "--model", str(folder), "--port", str(theirs)]
            with running(stock, {"HF_HUB_OFFLINE": "1"}, f"{peer.url}/health", Path(scratch) / "peer.log"):
                rows = asyncio.run(compare(fireside, peer, arguments.rounds, arguments.task))
    print(_table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()
