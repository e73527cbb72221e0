"""What the SSD tier gives and what it costs: turns after a restart, decoding and requests while it writes.

    cd scripts
    ../.venv/bin/python -m bench.ssd restart
    ../.venv/bin/python -m bench.ssd writing --waiting 50
    python3 -m bench.ssd writing --shape 8B

`--shape` takes random weights of a real model's sizes, for a GPU. Everything after `--` goes to
`fireside serve`.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from bench.gpu import SHAPES, random_model, roomy, wait_until_warm
from bench.report import Table, publish, say
from bench.serve import Target
from bench.servers import Setting, Work, fireside, processes, stats
from bench.stream import Answer, Running, ask, ask_all, chat_body
from bench.turns import Side, all_decode, generated, in_turns

_ANSWER_TOKENS = 24
_WRITTEN_WITHIN_S = 300.0
_LOAD_WRITES_WITHIN_S = 60.0
"""After the pairs, under the same load; else there is nothing to be measured once all is written."""
_ROWS = 8
_MOST = 20_000
"""Tokens of a row of the load, which lasts minutes."""
_PAIRS = 10
_IDLE_PAIRS = 5
"""Before anything waits to be written, and as many when all has been."""
_TURNS = 12
"""Of a quarter of a second, of each side, in a pair."""
_PROBES = 12
_OFF = ("--ssd-cache", "off")
_MB = 1_000_000


@dataclass(frozen=True)
class _Chat:
    """One chat: its first turn, and the messages of the second."""

    first: Answer
    messages: list[dict[str, str]]


def measure_restart(setting: Setting, tokens: int) -> list[Table]:
    """A chat's next turn after a restart, beside the same turn where nothing is cached."""
    columns = (
        "prompt tokens", "cached tokens", "cold TTFT, ms", "TTFT after the restart, ms", "share",
        "same answers",
    )  # fmt: skip
    table = Table(f"A chat of {tokens} tokens goes on after a restart, {setting.name}", columns)
    with fireside(setting) as target:
        chats = asyncio.run(_first_turns(setting, target, tokens))
        _wait_until_written(target)
    with _served(setting) as target:
        after = asyncio.run(_second_turns(target, chats))
        tier = _tier(target)
        say(f"{tier['restores']} brought back, the last of them in {tier['restore_ms_last']} ms")
    with _served(setting, *_OFF, "--prompt-cache", "0") as target:
        cold = asyncio.run(_second_turns(target, chats))
    # The first one of each server does not count.
    pairs = list(zip(cold, after, strict=True))[1:]
    shares = [b.ttft_s / a.ttft_s for a, b in pairs]
    cached = [float(b.usage["prompt_tokens_details"]["cached_tokens"]) for _, b in pairs]
    table.add(
        [float(b.usage["prompt_tokens"]) for _, b in pairs],
        cached,
        [1000 * a.ttft_s for a, _ in pairs],
        [1000 * b.ttft_s for _, b in pairs],
        shares,
        f"{sum(a.text == b.text for a, b in pairs)} of {len(pairs)}",
    )
    return [table]


async def _first_turns(setting: Setting, target: Target, tokens: int) -> list[_Chat]:
    work, chats = Work(setting.name), list[_Chat]()
    for number in range(setting.rounds + 1):
        text = await work.long(target, tokens, seed=300 + number)
        messages = [{"role": "user", "content": text}]
        first = await ask(target, chat_body(target, messages, _ANSWER_TOKENS))
        messages += [{"role": "assistant", "content": first.text}, {"role": "user", "content": "Go on."}]
        chats.append(_Chat(first, messages))
    return chats


async def _second_turns(target: Target, chats: Sequence[_Chat]) -> list[Answer]:
    return [await ask(target, chat_body(target, chat.messages, _ANSWER_TOKENS)) for chat in chats]


def measure_writing(setting: Setting, waiting_bytes: int) -> list[Table]:
    """Decoding under a steady load while the tier writes, and requests that arrive while it does."""
    decoding = Table(
        f"{_ROWS} rows decode while the SSD tier writes, {setting.name}",
        (
            "waiting at first, MB",
            "written by then, MB",
            "pairs while it wrote",
            "of the tier off",
            "the same with nothing to write",
            "of that",
        ),
    )
    starting = Table(
        f"A short request arrives while the SSD tier writes, {setting.name}",
        ("waiting, MB", "left at the end, MB", "TTFT, ms", "TTFT without a tier, ms", "later, ms"),
    )
    queue = f"{2 * waiting_bytes}"
    apart = replace(setting, home=setting.scratch / "home-off")
    with (
        _served(setting, "--batch", str(2 * _ROWS), "--ssd-queue", queue, "--prompt-cache", queue) as on,
        _served(apart, "--batch", str(2 * _ROWS), *_OFF) as off,
    ):
        asyncio.run(_load(setting, on, off, waiting_bytes, decoding))
        _wait_until_written(on)
        asyncio.run(_probe(setting, on, off, waiting_bytes, starting))
    return [decoding, starting]


async def _load(setting: Setting, on: Target, off: Target, waiting: int, table: Table) -> None:
    work = Work(setting.name)
    async with (
        httpx.AsyncClient(base_url=on.url, trust_env=False, timeout=60) as ours,
        httpx.AsyncClient(base_url=off.url, trust_env=False, timeout=60) as others,
        Running() as rows,
    ):
        for number in range(_ROWS):
            for target in (on, off):
                rows.start(target, chat_body(target, work.endless(number), _MOST))
        for client in (ours, others):
            await all_decode(client, _ROWS)
        sides = [
            Side(list(processes(on).values()), lambda: generated(ours)),
            Side(list(processes(off).values()), lambda: generated(others)),
        ]
        # Two processes differ by more than what is looked for, so each pair is one of the same two.
        idle = [await _pair(sides) for _ in range(_IDLE_PAIRS)]
        before = _tier(on)["written_bytes"]
        first = await _fill(work, on, waiting, seed=400) + _tier(on)["written_bytes"] - before
        writing, wrote, written = list[float](), 0, 0
        for _ in range(_PAIRS):
            wrote += _tier(on)["pending_spill_bytes"] > 0
            writing.append(await _pair(sides))
            written = _tier(on)["written_bytes"] - before
            say(f"{written / _MB:.0f} MB written")
        if await asyncio.to_thread(_is_written, on, _LOAD_WRITES_WITHIN_S):
            idle += [await _pair(sides) for _ in range(_IDLE_PAIRS)]
        if any(answer.complete for answer in rows.answers):
            raise SystemExit("an answer ended while it was measured")
    table.add(first / _MB, written / _MB, wrote, writing, idle, median(writing) / median(idle))


async def _pair(sides: Sequence[Side]) -> float:
    """How fast the first decodes, of the second."""
    for side in sides:
        side.stop()
    try:
        first, second = await in_turns(sides, _TURNS)
    finally:
        for side in sides:
            side.go()
    say(f"{first:.1f} / {second:.1f} tok/s")
    return first / second


async def _probe(setting: Setting, on: Target, off: Target, waiting: int, table: Table) -> None:
    """Short requests one by one, in turn at both servers, the first of which is idle but for the tier."""
    work = Work(setting.name)
    found: dict[str, list[float]] = {on.url: [], off.url: []}
    first = left = await _fill(work, on, waiting, seed=500)
    for number in range(_PROBES):
        for target in (on, off):
            body = chat_body(target, work.endless(80 + number), 4)
            begin = time.perf_counter()
            answer = await ask(target, body)
            if number:
                found[target.url].append(1000 * (answer.sent_at - begin + answer.ttft_s))
        left = _tier(on)["pending_spill_bytes"]
        if not left:
            break
        await asyncio.sleep(0.1)
    later = [a - b for a, b in zip(found[on.url], found[off.url], strict=True)]
    table.add(first / _MB, left / _MB, found[on.url], found[off.url], later)


async def _fill(work: Work, target: Target, nbytes: int, seed: int) -> int:
    """Let so many bytes wait to be written, all of which come at once. Returns how many do."""
    trial = await work.long(target, 1500, seed=seed)
    before = stats(target)["prompt_cache"]["bytes"]
    [answer] = await ask_all(target, [chat_body(target, trial, 1)])
    each = (stats(target)["prompt_cache"]["bytes"] - before) / answer.usage["prompt_tokens"]
    count = math.ceil(nbytes / each / 3000)
    texts = [await work.long(target, 3000, seed=seed + 1 + number) for number in range(count)]
    await ask_all(target, [chat_body(target, text, 1) for text in texts])
    return _tier(target)["pending_spill_bytes"]


def _tier(target: Target) -> dict[str, Any]:
    return stats(target)["ssd_cache"]


def _wait_until_written(target: Target) -> None:
    if not _is_written(target, _WRITTEN_WITHIN_S):
        raise SystemExit(f"the SSD tier did not write all: {_tier(target)}")


def _is_written(target: Target, within_s: float) -> bool:
    """Wait until nothing waits to be written; False where that takes too long."""
    end = time.monotonic() + within_s
    while _tier(target)["pending_spill_bytes"]:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@contextmanager
def _served(setting: Setting, *flags: str) -> Iterator[Target]:
    with fireside(setting, *flags) as target:
        if stats(target)["engine"]["device"] != "cpu":
            wait_until_warm(target)
        yield target


def main() -> None:
    """Run one measurement."""
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measure", choices=("restart", "writing"), nargs="+")
    parser.add_argument("--model", type=Path, help="a model folder instead of the default model")
    parser.add_argument("--shape", choices=SHAPES, help="random weights instead, of these sizes")
    parser.add_argument("--home", type=Path, help="FIRESIDE_HOME, kept for the next run")
    parser.add_argument("--rounds", type=int, default=3, help="chats that count")
    parser.add_argument("--tokens", type=int, default=3000, help="of a chat")
    parser.add_argument("--waiting", type=int, default=2000, help="MB to be written")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments[:split])
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch) / "home"
        setting = Setting(options.model, home, Path(scratch), options.rounds, False, arguments[split + 1 :])
        if options.shape is None:
            publish(_measure(setting, options), options.json)
            return
        with random_model(options.shape, roomy()) as folder:
            publish(_measure(replace(setting, model=folder), options), options.json)


def _measure(setting: Setting, options: argparse.Namespace) -> list[Table]:
    tables: list[Table] = []
    for measure in options.measure:
        if measure == "restart":
            tables += measure_restart(setting, options.tokens)
        else:
            tables += measure_writing(setting, options.waiting * _MB)
        say(tables[-1].markdown())
    return tables


if __name__ == "__main__":
    main()
